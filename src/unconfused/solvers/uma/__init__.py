"""UMA: the solver and its parts."""
