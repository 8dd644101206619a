"""Profiler rules beyond SageMaker's; ProfilerReport does not run them."""
