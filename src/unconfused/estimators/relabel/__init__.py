"""Rounds of relabelling: pseudo-labels, judged out of fold."""
