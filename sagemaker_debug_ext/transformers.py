"""Capture with Hugging Face's `Trainer`: ``from sagemaker_debug_ext.transformers import DebuggerCallback``."""

# ruff: noqa: E402 - the library is looked for before anything imports it, so that the error says what to install

from __future__ import annotations

from sagemaker_debug_ext._optional import import_optional

import_optional("torch", "The callback", extra="torch")
import_optional("transformers", "The callback")

from sagemaker_debug_ext.hooks.pytorch.transformers import DebuggerCallback

__all__ = ["DebuggerCallback"]
