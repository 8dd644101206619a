"""Trials that commands open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sagemaker_debug_ext._s3_urls import SCHEME

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

_KEPT_BYTES: Final = 4 * 2**30


def open_for_report(path: str) -> Trial:
    """Open a trial that has begun.

    What is read of a trial on S3 is kept in a temporary file, because rules and views read the same tensors.
    """
    from sagemaker_debug_ext.trials import create_trial

    if not path.startswith(SCHEME):
        return create_trial(path, wait_seconds=0)
    from sagemaker_debug_ext.store.backends.s3 import S3Options

    return create_trial(path, wait_seconds=0, s3=S3Options(keep_bytes=_KEPT_BYTES))
