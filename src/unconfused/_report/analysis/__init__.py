"""What a fitted model and its rows say about the labels, as plain data."""
