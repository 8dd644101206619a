"""How rules come into being: built-in ones by name, custom ones from files and dotted paths."""
