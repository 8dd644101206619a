"""Commands on training jobs, beyond their trials."""
