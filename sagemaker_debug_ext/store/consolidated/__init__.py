"""One object that holds the index of a whole trial (store format, section on the consolidated index)."""
