"""The league: methods for wrong labels on the same rows, with the same knowledge."""
