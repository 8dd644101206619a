"""What a set of samples is like: how many there are, how much they vary, and whether they come in the order of time."""
