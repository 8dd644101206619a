"""S3 URLs, without loading boto3."""

from __future__ import annotations

from typing import Final

from sagemaker_debug_ext.errors import SMDebugValueError

SCHEME: Final = "s3://"


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
    return bucket, "/".join(part for part in key.split("/") if part)
