"""SageMaker's rules about tensors of any kind: their values, and whether any arrive."""
