"""Rules about gradients, learning rates and weight updates."""
