"""Bytes and names of profiler files: pure functions, no storage, no framework (profiler format, section 1)."""
