"""SageMaker's rules about boosted trees."""
