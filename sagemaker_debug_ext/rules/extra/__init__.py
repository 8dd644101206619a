"""Rules of this package, one a module, in a folder for each topic."""
