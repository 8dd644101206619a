"""The sections of a report, one view each."""
