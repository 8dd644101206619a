"""SageMaker's rules about losses and predictions over time."""
