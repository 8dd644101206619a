"""Trials of running jobs: a board of their data, and a process that evaluates their rules."""
