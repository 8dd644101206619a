"""Helpers for scripts that analyse trials."""
