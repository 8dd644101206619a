"""The MXNet hook and its helpers."""
