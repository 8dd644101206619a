"""Storage for watchers: while S3 is out of reach, requests are repeated, so that an outage ends no rule."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sagemaker_debug_ext._s3_urls import SCHEME
from sagemaker_debug_ext.store.backends import Backend, open_backend

if TYPE_CHECKING:
    from sagemaker_debug_ext.store.backends.s3 import S3Options

_LOG: Final = logging.getLogger(__name__)
_WARNING_SECONDS: Final = 60.0


def patient_options(location: str, keeps_waiting: Callable[[], bool]) -> S3Options | None:
    """Return options with which requests are repeated while S3 is out of reach; None for a folder.

    Args:
        location: Path or S3 location.
        keeps_waiting: Returns whether to wait longer.
    """
    if not location.startswith(SCHEME):
        return None
    from sagemaker_debug_ext.store.backends.s3 import S3Options  # noqa: PLC0415 - importing boto3 is slow

    warned_at = -math.inf

    def keep_trying() -> bool:
        nonlocal warned_at
        if keeps_waiting() and time.monotonic() - warned_at > _WARNING_SECONDS:
            warned_at = time.monotonic()
            _LOG.warning("S3 is out of reach: the rules wait for %s", location)
        return keeps_waiting()

    return S3Options(keep_trying=keep_trying)


def open_patiently(location: str, keeps_waiting: Callable[[], bool]) -> Backend:
    """Return the back end for a location with `patient_options`."""
    return open_backend(location, patient_options(location, keeps_waiting))
