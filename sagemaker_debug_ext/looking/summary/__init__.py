"""The summary of a trial: one object in it that holds what a report shows, so that a report needs few requests."""
