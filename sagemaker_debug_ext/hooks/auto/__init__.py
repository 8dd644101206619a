"""Capture without a change of the script: one module for each framework, which is used if the script imports it."""

from __future__ import annotations

from sagemaker_debug_ext.hooks.auto.install import attach

__all__ = ["attach"]
