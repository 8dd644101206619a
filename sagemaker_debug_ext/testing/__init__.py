"""Test kit for this package and others: small trials, back-end contract and Hypothesis strategies."""
