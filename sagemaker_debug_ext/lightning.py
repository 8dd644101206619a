"""Capture with Lightning's `Trainer`: ``from sagemaker_debug_ext.lightning import DebuggerCallback``."""

# ruff: noqa: E402 - check for the library first, so that the error names the package to install

from __future__ import annotations

from sagemaker_debug_ext._imports.optional import import_optional

import_optional("torch", "The callback", extra="torch")
import_optional("lightning", "The callback")

from sagemaker_debug_ext.hooks.pytorch.lightning import DebuggerCallback

__all__ = ["DebuggerCallback"]
