"""The built-in rules, one a module, each named as in the catalog."""
