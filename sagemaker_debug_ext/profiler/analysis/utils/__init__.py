"""Tables and timelines of profiler data."""
