"""One module for each library that can be measured."""
