"""From a data file and options to rows, labels and what is known about the noise."""
