"""Which rows to check: labels corrected and accuracy against rows checked."""
