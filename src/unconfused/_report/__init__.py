"""The report: what is wrong with the labels, as one HTML file."""
