"""Rules about gradients, learning rates and what changes the weights."""
