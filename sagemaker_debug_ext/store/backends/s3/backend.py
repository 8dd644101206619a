"""The back end for S3 and compatible servers."""

from __future__ import annotations

import email.utils
import io
import itertools
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import boto3
import botocore.config
import botocore.exceptions

from sagemaker_debug_ext._s3_urls import SCHEME
from sagemaker_debug_ext.errors import StorageError
from sagemaker_debug_ext.store.backends.base import Backend, Buffer, ByteRange, ObjectInfo, Watch, check_key
from sagemaker_debug_ext.store.backends.s3.errors import (
    BEYOND_THE_END,
    BROKEN_BODY,
    DENIED,
    MISSING,
    REPLACED,
    SPOILED_ANSWER,
    SPOILED_BODY,
    TAKEN,
    UNKNOWN_CONDITION,
    error_code,
    is_outage,
    storage_error,
)
from sagemaker_debug_ext.store.backends.s3.kept import KeptRanges
from sagemaker_debug_ext.store.backends.s3.listing import Listing, S3Watch
from sagemaker_debug_ext.store.backends.s3.options import S3Options
from sagemaker_debug_ext.store.backends.s3.transfer import (
    MIB,
    PART_BYTES,
    BuffersReader,
    ResumableBody,
    merge_near,
)

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


_S = TypeVar("_S")
_T = TypeVar("_T")

_BODY_ATTEMPTS: Final = 6
_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 5.0


class S3Backend(Backend):
    """Objects are S3 objects below a prefix of a bucket, which is never created.

    Requests are retried after throttling, server errors and timeouts. An interrupted download resumes where it stopped,
    as long as the object is still the same.

    Args:
        bucket: The bucket.
        prefix: Prefix of all keys, without the last slash.
        options: How to connect to S3.
        sleep: Sleeps for the given number of seconds between two attempts to read a body.

    Raises:
        StorageError: There are no credentials, no region, or no such profile.
    """

    is_remote: ClassVar[bool] = True

    def __init__(
        self,
        bucket: str,
        prefix: str = "",
        options: S3Options | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.bucket = bucket
        self.prefix = prefix
        self.url = f"{SCHEME}{bucket}/{prefix}".rstrip("/")
        self._root = f"{prefix}/" if prefix else ""
        self._listing = Listing(self._root, self._request_page, self._parallel)
        self._options = options or S3Options()
        self._sleep = sleep
        self._client = self._connect()
        self.cache_key = f"{self._client.meta.endpoint_url} {self.url}"
        self._payer: dict[str, Any] = {"RequestPayer": "requester"} if self._options.requester_pays else {}
        self._knows_conditions = _supports_member(self._client, "PutObject", "IfNoneMatch")
        self._kept = KeptRanges(self._options.keep_bytes)
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None

    def _connect(self) -> S3Client:
        try:
            return self._options.make_client()
        except (botocore.exceptions.BotoCoreError, ValueError) as error:  # the latter of a wrong endpoint
            raise storage_error(self.url, self.bucket, error) from error

    # --- listing -----------------------------------------------------------------------------------------------------

    def list(self, prefix: str = "") -> list[ObjectInfo]:
        return sorted(itertools.chain.from_iterable(self.list_pages(prefix)))

    def list_pages(self, prefix: str, after: str = "") -> Iterator[Sequence[ObjectInfo]]:
        """Yield the objects whose keys start with `prefix` and come after `after`, one sequence per request."""
        return self._listing.pages(prefix, after)

    def _request_page(self, prefix: str, **more: Any) -> Any:
        return self._call(
            prefix,
            self._client.list_objects_v2,
            Bucket=self.bucket,
            Prefix=self._root + prefix,
            **more,
            **self._payer,
        )

    def watch(self, prefix: str) -> Watch:
        return S3Watch(self, prefix, self.list_pages)

    # --- reading -----------------------------------------------------------------------------------------------------

    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes | None:
        check_key(key)
        if length == 0:
            return b"" if self.exists(key) else None
        if length is not None and length > PART_BYTES:
            return self._read_parts(key, start, length)
        content, _ = self._get(key, start, length)
        return content

    def _read_parts(self, key: str, start: int, length: int) -> bytes | None:
        """Read a large range with several requests, none of them beyond the end of the object."""
        first, size = self._get(key, start, PART_BYTES)
        end = min(start + length, size)
        if first is None or start + len(first) >= end:
            return first
        starts = range(start + len(first), end, PART_BYTES)
        rest = [ByteRange(key, at, min(PART_BYTES, end - at)) for at in starts]
        parts = [first]
        for part in self._parallel(lambda part_range: self._get(*part_range)[0], rest):
            if isinstance(part, OSError):
                raise part
            parts.append(part or b"")
        return b"".join(parts)

    def read_many(self, ranges: Iterable[ByteRange]) -> Sequence[Buffer | OSError | None]:
        wanted = list(ranges)
        merged, places = merge_near(wanted)
        fetched = self._parallel(self._read_or_fail, merged)
        found: list[Buffer | OSError | None] = []
        for byte_range, (position, offset) in zip(wanted, places, strict=True):
            content = fetched[position]
            if content is None or isinstance(content, OSError) or merged[position] == byte_range:
                found.append(content)
            else:
                found.append(memoryview(content)[offset : offset + (byte_range.length or 0)])
        return found

    def _parallel(self, ask: Callable[[_S], _T], questions: Sequence[_S]) -> Sequence[_T | OSError]:
        def attempt(question: _S) -> _T | OSError:
            try:
                return ask(question)
            except OSError as error:
                return error

        if len(questions) <= 1 or threading.current_thread().name.startswith(_THREAD_NAME):
            return [attempt(question) for question in questions]
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self._options.num_connections, _THREAD_NAME)
        return list(self._executor.map(attempt, questions))

    def _get(self, key: str, start: int, length: int | None) -> tuple[bytes | None, int]:
        """Return part of an object and the size of the whole object; None and 0 if it does not exist."""
        if length is None:  # an object that is read whole may change
            return self._request(key, start, length)
        kept = self._kept.find(key, start, length)
        if kept is not None:
            return kept
        content, size = self._request(key, start, length)
        self._kept.keep(key, start, content or b"", size)
        return content, size

    def _request(self, key: str, start: int, length: int | None) -> tuple[bytes | None, int]:
        body = ResumableBody(start, length)
        for attempt in itertools.count(1):
            try:
                response = self._client.get_object(
                    Bucket=self.bucket, Key=self._root + key, **body.wanted(), **self._payer
                )
            except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
                code = error_code(error)
                if self._is_missing(key, code):
                    return None, 0
                if code in BEYOND_THE_END:
                    return b"", start
                if code in REPLACED and attempt < _BODY_ATTEMPTS:
                    body = ResumableBody(start, length)
                elif not self._keeps_trying(error):  # botocore has already retried it
                    raise storage_error(f"{self.url}/{key}".rstrip("/"), self.bucket, error) from error
                continue
            except SPOILED_ANSWER as error:
                self._pause_or_give_up(key, attempt, error)
                continue
            try:
                body.take_in(response)
                return b"".join(body.pieces), body.size
            except BROKEN_BODY as error:
                self._pause_or_give_up(key, attempt, error)
            except SPOILED_BODY as error:  # any of its bytes may be wrong
                self._pause_or_give_up(key, attempt, error)
                body = ResumableBody(start, length)
        raise AssertionError("unreachable")

    def _pause_or_give_up(self, key: str, attempt: int, error: Exception) -> None:
        """Sleep before the next attempt; raise after the last one."""
        if attempt >= _BODY_ATTEMPTS and not self._keeps_trying(error):
            raise storage_error(f"{self.url}/{key}".rstrip("/"), self.bucket, error) from error
        longest = min(_FIRST_PAUSE_SECONDS * 2**attempt, _LONGEST_PAUSE_SECONDS)
        self._sleep(random.uniform(0, longest))  # noqa: S311 - jitter, not cryptography

    def exists(self, key: str) -> bool:
        return self._head(key) is not None

    def age_seconds(self, key: str) -> float | None:
        head = self._head(key)
        date = None if head is None else head["ResponseMetadata"]["HTTPHeaders"].get("date")
        if head is None or date is None:  # some servers send none
            return None
        return float((email.utils.parsedate_to_datetime(date) - head["LastModified"]).total_seconds())

    def _head(self, key: str) -> Mapping[str, Any] | None:
        """Return the description of an object; None if it does not exist."""
        check_key(key)
        try:
            head: Mapping[str, Any] = self._call(
                key, self._client.head_object, Bucket=self.bucket, Key=self._root + key, **self._payer
            )
        except StorageError as error:
            if self._is_missing(key, error.code):
                return None
            raise
        return head

    def _is_missing(self, key: str, code: str) -> bool:
        """Return whether a request was refused with a code because there is no such object.

        S3 says that an object is missing only to those who may list the bucket without a condition. Those who may list
        a prefix of it are denied a missing object like one that they may not read; a listing of the key tells which.
        """
        if code not in DENIED:
            return code in MISSING
        try:
            page = self._request_page(key, MaxKeys=1)
        except StorageError:
            return False  # the refusal of the object says more
        return all(item["Key"] != self._root + key for item in page.get("Contents", ()))

    # --- writing -----------------------------------------------------------------------------------------------------

    def write(self, key: str, parts: Sequence[Buffer]) -> None:
        check_key(key)
        views = [memoryview(part).cast("B") for part in parts if len(part)]
        size = sum(view.nbytes for view in views)
        target = {"Bucket": self.bucket, "Key": self._root + key}
        extra = {**self._payer, **self._encryption(), **_content_type(key)}
        if size <= PART_BYTES:
            self._call(key, self._client.put_object, Body=b"".join(views), **target, **extra)
            return
        reader = io.BufferedReader(BuffersReader(views), MIB)
        self._call(key, self._client.upload_fileobj, reader, ExtraArgs=extra, **target)

    def create(self, key: str, content: bytes = b"") -> bool:
        check_key(key)
        target = {"Bucket": self.bucket, "Key": self._root + key, **self._payer, **self._encryption()}
        if self._knows_conditions:
            try:
                self._call(key, self._client.put_object, Body=content, IfNoneMatch="*", **target)
            except StorageError as error:
                if error.code in TAKEN:
                    return False
                if error.code not in UNKNOWN_CONDITION:
                    raise
                self._knows_conditions = False
            else:
                return True
        # Without conditional writes, two processes that create an object at once both get True. This is harmless,
        # because the marks of a trial do not depend on who made them. Only claims do, and those are for local folders.
        with self._lock:
            if self.exists(key):
                return False
            self._call(key, self._client.put_object, Body=content, **target)
            return True

    def delete(self, key: str) -> None:
        check_key(key)
        self._call(key, self._client.delete_object, Bucket=self.bucket, Key=self._root + key, **self._payer)

    def _encryption(self) -> dict[str, str]:
        options = self._options
        encryption = options.encryption or ("aws:kms" if options.kms_key_id else "")
        key = options.kms_key_id if encryption.startswith("aws:kms") else None  # S3 refuses it with another one
        chosen = {"ServerSideEncryption": encryption, "SSEKMSKeyId": key}
        return {name: value for name, value in chosen.items() if value}

    def _keeps_trying(self, error: BaseException) -> bool:
        """Wait before another round of attempts, if S3 is out of reach and the options ask for one."""
        keep_trying = self._options.keep_trying
        if keep_trying is None or not is_outage(error) or not keep_trying():
            return False
        self._sleep(_LONGEST_PAUSE_SECONDS)
        return True

    # --- errors ------------------------------------------------------------------------------------------------------

    def _call(self, key: str, call: Callable[..., _T], *arguments: Any, **members: Any) -> _T:
        """Call the client, again if its answer is spoiled; raise `StorageError` naming the object."""
        for attempt in itertools.count(1):
            try:
                return call(*arguments, **members)
            except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:  # noqa: PERF203
                if self._keeps_trying(error):
                    continue
                raise storage_error(f"{self.url}/{key}".rstrip("/"), self.bucket, error) from error
            except boto3.exceptions.S3UploadFailedError as error:
                cause = error.__cause__ or error
                if self._keeps_trying(cause):
                    continue
                raise storage_error(f"{self.url}/{key}".rstrip("/"), self.bucket, cause) from error
            except SPOILED_ANSWER as error:
                self._pause_or_give_up(key, attempt, error)
        raise AssertionError("unreachable")


_THREAD_NAME: Final = "sagemaker_debug_ext-s3"


def _supports_member(client: S3Client, operation: str, member: str) -> bool:
    """Return whether the installed boto3 knows a member of a request; conditional writes came with 1.35."""
    shape: Any = client.meta.service_model.operation_model(operation).input_shape
    return member in shape.members


def _content_type(key: str) -> dict[str, str]:
    """Return what makes a browser show a page instead of saving it."""
    return {"ContentType": "text/html; charset=utf-8"} if key.endswith(".html") else {}
