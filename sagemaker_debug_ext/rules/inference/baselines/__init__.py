"""Predictions that any model should beat, or come close to."""
