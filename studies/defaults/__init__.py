"""Which defaults and presets of training are good, on validation graphs alone."""
