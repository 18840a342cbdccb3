"""The experiments of the paper, and beyond it; not part of the installed package."""
