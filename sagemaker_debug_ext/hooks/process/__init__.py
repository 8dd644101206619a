"""The process around a hook: its exit, its forks, and SIGTERM."""
