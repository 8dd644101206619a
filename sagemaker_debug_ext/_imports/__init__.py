"""Imports: callbacks after an import, names that are imported on first use, and optional packages."""
