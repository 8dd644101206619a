"""S3 URLs, and what else is known of S3 without loading boto3."""

from __future__ import annotations

import re
from typing import Final

from sagemaker_debug_ext.errors import SMDebugValueError

SCHEME: Final = "s3://"

KMS_VARIABLE: Final = "SAGEMAKER_DEBUG_EXT_KMS_KEY_ID"
"""Environment variable that names the KMS key with which objects are written, as in self-managed jobs."""

_BUCKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}|arn:.+")
"""What boto3 takes for a bucket. New buckets cannot have capitals and underscores, but old ones do."""


def split_s3_url(url: str, form: str = "s3://bucket/key") -> tuple[str, str]:
    """Return bucket and key of an S3 URL; repeated and trailing slashes of the key are dropped.

    Args:
        url: The URL.
        form: How the error describes a valid URL.

    Raises:
        SMDebugValueError: The value is not an S3 URL with a bucket.
    """
    bucket, _, key = url.removeprefix(SCHEME).partition("/")
    if not url.startswith(SCHEME) or not bucket:
        raise SMDebugValueError(f"an S3 location must look like {form} (got {url!r})")
    check_bucket(bucket, url)
    return bucket, "/".join(part for part in key.split("/") if part)


def check_bucket(bucket: str, url: str) -> None:
    """Raise if no bucket can have this name.

    Args:
        bucket: The name.
        url: The URL that holds it.

    Raises:
        SMDebugValueError: The name has characters that names of buckets never have.
    """
    if not _BUCKET.fullmatch(bucket):
        raise SMDebugValueError(
            f"the bucket of {url!r} must be letters, digits, dots and hyphens, and begin with a letter or digit "
            f"(got {bucket!r})"
        )
