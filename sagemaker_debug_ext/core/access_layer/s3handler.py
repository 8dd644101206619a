"""Listing, reading and deleting objects on S3 by hand, as scripts for Debugger do."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final, TypeVar

import attrs

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext.core.utils import is_s3
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, StorageError
from sagemaker_debug_ext.store.backends.base import ByteRange
from sagemaker_debug_ext.store.backends.s3 import S3Backend

__all__ = ["DeleteRequest", "ListRequest", "ReadObjectRequest", "S3Handler", "is_s3", "list_s3_objects"]

_NO_SUCH_BUCKET: Final = "NoSuchBucket"

_T = TypeVar("_T")


@attrs.frozen
class ListRequest:
    """Asks for the keys of a bucket.

    Args:
        Bucket: The bucket.
        Prefix: What the keys start with.
        Delimiter: If given, keys with the delimiter after the prefix are listed as one: their common beginning.
        StartAfter: Only later keys are listed.
    """

    bucket: str = attrs.field(alias="Bucket")
    prefix: str = attrs.field(default="", alias="Prefix")
    delimiter: str = attrs.field(default="", alias="Delimiter")
    start_after: str = attrs.field(default="", alias="StartAfter")


@attrs.frozen
class DeleteRequest:
    """Asks for the removal of all objects of a bucket whose keys start with a prefix.

    Args:
        Bucket: The bucket.
        Prefix: What the keys start with.
    """

    bucket: str = attrs.field(alias="Bucket")
    prefix: str = attrs.field(default="", alias="Prefix")


class ReadObjectRequest:
    """Asks for the content of an object.

    Args:
        path: S3 URL of the object.
        start: First byte; None for the whole object.
        length: Number of bytes; None for all bytes from `start` on.

    Raises:
        SMDebugValueError: The path is not an S3 URL.
    """

    def __init__(self, path: str, start: int | None = None, length: int | None = None) -> None:
        self.is_s3 = True
        self.bucket, self.key = _split(path)
        self.start = start or 0
        self.length = None if start is None else length
        self.download_entire_file = start is None


class S3Handler:
    """Functions on S3; an outage or a lack of permission raises `StorageError`."""

    @staticmethod
    def list_prefixes(list_requests: list[ListRequest]) -> list[list[str]]:
        """Return the keys for each request; see `list_prefix`."""
        return [S3Handler.list_prefix(request) for request in _checked(list_requests, ListRequest)]

    @staticmethod
    def list_prefix(lr: ListRequest) -> list[str]:
        """Return the keys that a request asks for, sorted; common beginnings come first. A missing bucket has none."""
        pages = S3Backend(lr.bucket).list_pages(lr.prefix, lr.start_after)
        try:
            keys = sorted(info.key for info in itertools.chain.from_iterable(pages))
        except StorageError as error:
            if error.code == _NO_SUCH_BUCKET:
                return []
            raise
        if not lr.delimiter:
            return keys
        folders = {key: _folder(key, lr) for key in keys}
        common = sorted({folder for folder in folders.values() if folder})
        return common + [key for key, folder in folders.items() if not folder]

    @staticmethod
    def get_objects(
        object_requests: list[ReadObjectRequest],
        use_multiprocessing: bool = True,  # noqa: ARG004 - part of the API
        n_process: int | None = None,  # noqa: ARG004 - likewise
    ) -> list[bytes | None]:
        """Return the content for each request; None for an object that does not exist.

        Args:
            object_requests: What to read.
            use_multiprocessing: Has no effect: threads read several objects at once.
            n_process: Has no effect, likewise.
        """
        found: dict[int, bytes | None] = {}
        requests = _checked(object_requests, ReadObjectRequest)
        for bucket in dict.fromkeys(request.bucket for request in requests):
            places = [place for place, request in enumerate(requests) if request.bucket == bucket]
            wanted = [ByteRange(requests[at].key, requests[at].start, requests[at].length) for at in places]
            for place, content in zip(places, S3Backend(bucket).read_many(wanted), strict=True):
                if isinstance(content, OSError):
                    raise content
                found[place] = None if content is None else bytes(content)
        return [found[place] for place in range(len(requests))]

    @staticmethod
    def get_object(object_request: ReadObjectRequest) -> bytes | None:
        """Return the content that a request asks for; None if the object does not exist."""
        return S3Handler.get_objects([object_request])[0]

    @staticmethod
    def delete_prefix(path: str | None = None, delete_request: DeleteRequest | None = None) -> None:
        """Delete objects.

        Args:
            path: S3 URL that the URLs of the objects start with.
            delete_request: The request instead of `path`.

        Raises:
            SMDebugValueError: Both are given, or the path is not an S3 URL.
        """
        if path is not None and delete_request is not None:
            raise SMDebugValueError(f"path or delete_request must be given, not both (got {path!r})")
        if path is not None:
            delete_request = DeleteRequest(*_split(path))
        S3Handler.delete_prefixes([delete_request] if delete_request else [])

    @staticmethod
    def delete_prefixes(delete_requests: list[DeleteRequest]) -> None:
        """Delete the objects that each request asks for."""
        for request in _checked(delete_requests, DeleteRequest):
            backend = S3Backend(request.bucket)
            for key in S3Handler.list_prefix(ListRequest(request.bucket, request.prefix)):
                backend.delete(key)


def list_s3_objects(
    bucket: str, prefix: str, start_after_key: str | None = None, delimiter: str = ""
) -> tuple[list[str], str | None]:
    """Return the keys of a bucket, sorted, and the last of them; None if there is none.

    Args:
        bucket: The bucket.
        prefix: What the keys start with.
        start_after_key: Only later keys are listed; by default those after `prefix`.
        delimiter: As for `ListRequest`.
    """
    keys = S3Handler.list_prefix(
        ListRequest(bucket, prefix, delimiter, prefix if start_after_key is None else start_after_key)
    )
    return keys, keys[-1] if keys else None


def _folder(key: str, request: ListRequest) -> str:
    """Return the beginning that a key shares with others; empty if it is listed itself."""
    name, delimiter, _ = key.removeprefix(request.prefix).partition(request.delimiter)
    return request.prefix + name + delimiter if delimiter else ""


def _split(path: str) -> tuple[str, str]:
    """Return bucket and key; unlike a trial's prefix, a key may end with a slash."""
    _, bucket, key = is_s3(path)
    if not bucket or key is None:
        raise SMDebugValueError(f"path must look like s3://bucket/key (got {path!r})")
    return bucket, key


def _checked(requests: Sequence[_T], kind: type[_T]) -> Sequence[_T]:
    if not isinstance(requests, list):
        raise SMDebugTypeError(f"a list of {kind.__name__} objects was expected (got {requests!r})")
    return requests


__getattr__ = lazy_names(__name__)
