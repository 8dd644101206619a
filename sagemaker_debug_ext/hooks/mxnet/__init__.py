"""The MXNet hook, and what only it needs."""
