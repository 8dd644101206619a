"""Rules about boosted trees."""
