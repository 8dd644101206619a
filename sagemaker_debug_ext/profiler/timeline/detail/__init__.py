"""Detailed profiles of a few steps: operators by the framework's profiler, Python functions by cProfile."""
