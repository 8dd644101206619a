"""SageMaker's rules about activations and the structure of a model."""
