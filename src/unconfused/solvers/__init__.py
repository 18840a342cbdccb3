"""The algorithms, in terms of engines, selection strategies and step rules."""
