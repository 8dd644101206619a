"""What several rules derive from a step: losses, activations, class labels, samples and updates."""
