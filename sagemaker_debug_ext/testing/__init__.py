"""Test kit: small trials and what tests of this package and of others share."""
