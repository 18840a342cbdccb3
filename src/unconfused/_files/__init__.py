"""Data files for the command line: read whole or in chunks, written atomically."""
