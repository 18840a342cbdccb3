"""Learn from labels that are wrong in a way you can describe."""
