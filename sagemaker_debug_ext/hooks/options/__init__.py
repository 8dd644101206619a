"""What the user asked for: arguments, configuration file and call signatures of hooks."""
