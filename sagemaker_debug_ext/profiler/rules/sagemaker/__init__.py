"""The profiler rules of SageMaker under their names, with their decisions and defaults."""
