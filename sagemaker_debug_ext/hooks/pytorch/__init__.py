"""The PyTorch hook, and what only it needs."""
