"""Public face of `Rule`, at the place where scripts for Debugger import it from."""

from sagemaker_debug_ext.rules.base import Rule

__all__ = ["Rule"]
