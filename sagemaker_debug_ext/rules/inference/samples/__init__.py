"""What a set of samples is like: how much its features vary, and whether it comes in the order of time."""
