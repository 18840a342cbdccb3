"""Fits to the votes of several annotators."""
