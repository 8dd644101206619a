"""The page of a job's profile: when machines and steps were slow, and what to change."""
