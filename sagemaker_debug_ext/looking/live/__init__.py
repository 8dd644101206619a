"""Trials that are looked at while their jobs run: the judge of their rules, and what is known of each so far."""
