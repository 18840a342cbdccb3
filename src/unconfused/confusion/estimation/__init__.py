"""Parts of the estimates of C: balance, calibration, temperature, neighbours, pooled counts."""
