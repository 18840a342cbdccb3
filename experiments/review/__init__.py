"""Which rows to check: labels mended and accuracy against rows checked."""
