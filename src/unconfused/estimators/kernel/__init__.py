"""Classifiers in the dual form."""
