"""The page of a report: its sections, tables and charts."""
