"""Few labels, many unlabelled rows."""
