"""The command line: arguments in, calls out. Data go to standard output, talk to standard error."""
