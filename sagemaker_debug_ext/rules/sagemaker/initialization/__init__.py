"""SageMaker's rules about the state of a model before its first updates."""
