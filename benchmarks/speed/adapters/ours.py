"""The PyTorch hook of this package."""

from __future__ import annotations

import functools
from typing import Any

import sagemaker_debug_ext.pytorch as smd
from adapters import attach_hook

attach = functools.partial(attach_hook, smd)


def wait(hook: Any) -> None:
    """Wait until everything that the hook has captured is written."""
    hook._dispatcher.output.flush()  # noqa: SLF001 - there is no public way, because scripts need not wait
