"""SageMaker's rules about gradients, learning rates and weight updates."""
