"""Feature pipelines for the columns of a frame, for the command line."""
