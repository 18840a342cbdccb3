"""From the columns of a frame to features: a pipeline for the command line."""
