"""How rules are run: over the steps of a trial, block by block, to a status and a result."""
