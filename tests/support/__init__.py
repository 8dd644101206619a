"""Helpers of this project's own tests."""
