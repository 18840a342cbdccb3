"""Settings chosen by cross-validation, and calibration on the held-out rows."""
