"""Analysis of profiler data: tables, statistics, merged timelines, Python functions."""
