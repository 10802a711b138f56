"""Training: configs, data, the loop, named protocols, run folders and records."""
