"""SageMaker's rules about inputs, labels, and the split into training and evaluation data."""
