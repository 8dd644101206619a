"""Rules about activations and the structure of a model."""
