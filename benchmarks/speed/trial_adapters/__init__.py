"""One module for each library whose trials can be measured."""
