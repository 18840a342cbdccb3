"""Compiled loops. Importing this folder compiles nothing; a loop is compiled when first called."""
