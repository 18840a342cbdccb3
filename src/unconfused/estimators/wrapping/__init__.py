"""Learning through the confusion matrix around any classifier."""
