"""What we measured and how to measure it again; not part of the installed package."""
