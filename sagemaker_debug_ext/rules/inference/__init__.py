"""Inference shared by several rules: losses, activations, class labels, samples and updates of a step."""
