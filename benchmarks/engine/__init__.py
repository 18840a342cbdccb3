"""One command that measures UMA's engine beside the paper written out and beside its peers."""
