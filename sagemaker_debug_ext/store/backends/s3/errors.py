"""Error codes of S3, with advice for errors that users can fix."""

from __future__ import annotations

import http.client
from typing import Final
from urllib.parse import quote

import botocore.exceptions
import botocore.parsers
import urllib3.exceptions

from sagemaker_debug_ext.errors import StorageError

MISSING: Final = ("NoSuchKey", "404", "NotFound")
DENIED: Final = ("AccessDenied", "403", "Forbidden", "AllAccessDisabled")
BEYOND_THE_END: Final = ("InvalidRange", "416")
REPLACED: Final = ("PreconditionFailed", "412")
TAKEN: Final = ("PreconditionFailed", "412", "ConditionalRequestConflict", "409")
UNKNOWN_CONDITION: Final = ("NotImplemented", "501")
BROKEN_BODY: Final = (
    botocore.exceptions.ReadTimeoutError,
    botocore.exceptions.ResponseStreamingError,
    botocore.exceptions.IncompleteReadError,
    botocore.exceptions.HTTPClientError,
    urllib3.exceptions.HTTPError,
)
"""Errors while the body of a response is read, which botocore does not retry; what has come of it is right."""

SPOILED_BODY: Final = (botocore.exceptions.ChecksumError, botocore.exceptions.FlexibleChecksumError)
"""Errors of bodies whose bytes have changed on the way."""

SPOILED_ANSWER: Final = (
    botocore.parsers.ResponseParserError,
    http.client.HTTPException,
    ValueError,
    KeyError,
    TypeError,
)
"""Errors of botocore about a response that it cannot make sense of, which it does not retry."""


_OUTAGES: Final = (
    botocore.exceptions.ConnectionError,
    botocore.exceptions.HTTPClientError,
    botocore.exceptions.ReadTimeoutError,
)
_THROTTLED: Final = ("SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded", "RequestTimeout")
_SERVER_ERROR: Final = 500


def is_outage(error: BaseException) -> bool:
    """Return whether a request has failed because S3 is out of reach or overloaded, so that it may succeed later."""
    if isinstance(error, botocore.exceptions.ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return error_code(error) in _THROTTLED or status > _SERVER_ERROR or error_code(error) == "InternalError"
    return isinstance(error, _OUTAGES)


def error_code(error: BaseException) -> str:
    """Return the code of an S3 error, or the name of the error's class."""
    if isinstance(error, botocore.exceptions.ClientError):
        return str(error.response.get("Error", {}).get("Code", ""))
    return type(error).__name__


def storage_error(location: str, bucket: str, error: BaseException) -> StorageError:
    """Return the error to raise for a failed request to an object, with advice if users can fix it."""
    code = error_code(error)
    return StorageError(location, f"{error}{_advice(code, str(error), bucket)}", code)


def _advice(code: str, text: str, bucket: str) -> str:
    if "KMS" in code.upper() or ("kms" in text.lower() and code == "AccessDenied"):
        return " (the key that encrypts the object must allow kms:Decrypt to read, kms:GenerateDataKey to write)"
    if code in DENIED:
        return (
            f" (needed on bucket {quote(bucket)}: s3:ListBucket, and s3:GetObject to read, s3:PutObject to write; for"
            " a bucket whose requests the reader pays, requester_pays)"
        )
    if code in ("NoSuchBucket", "InvalidBucketName"):
        return " (buckets are not created)"
    if code in ("NoCredentialsError", "PartialCredentialsError", "ExpiredToken", "InvalidAccessKeyId"):
        return " (see S3Options for profile_name and session)"
    return ""
