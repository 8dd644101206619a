"""Rules about losses and predictions over time."""
