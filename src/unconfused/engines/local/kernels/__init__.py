"""Compiled loops. Importing them compiles nothing; a loop is compiled on its first call."""
