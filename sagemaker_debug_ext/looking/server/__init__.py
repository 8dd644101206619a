"""The live page: a server on this machine that shows trials while their jobs run."""
