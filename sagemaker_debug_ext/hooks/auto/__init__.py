"""Capture of unmodified scripts: one module per framework, which is used if the script imports the framework."""

from __future__ import annotations

from sagemaker_debug_ext.hooks.auto.install import attach

__all__ = ["attach"]
