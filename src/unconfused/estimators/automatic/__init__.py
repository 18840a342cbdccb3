"""Settings chosen on rows held out, and probabilities calibrated on them."""
