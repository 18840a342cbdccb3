"""The review page: one row at a time, served to this machine only."""
