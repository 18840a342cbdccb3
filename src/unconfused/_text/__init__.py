"""Numbers, names and findings in words; text that is safe to print."""
