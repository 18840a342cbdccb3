"""Tables in files, for the command line: read, read in parts, write whole or not at all."""
