"""That data as an HTML page."""
