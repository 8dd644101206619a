"""Rules about the state of a model before its first updates."""
