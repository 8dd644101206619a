"""Which tensors a trial has at which steps: its index files, read once and kept up to date."""
