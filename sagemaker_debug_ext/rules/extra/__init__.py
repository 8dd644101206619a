"""Additional rules of this package, one per module, in a folder per topic."""
