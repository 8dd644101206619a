"""Trials on S3, or on anything that speaks its protocol."""

from __future__ import annotations

import io
import itertools
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar
from urllib.parse import quote

import attrs
import boto3
import botocore.config
import botocore.exceptions

from sagemaker_debug_ext.errors import SMDebugValueError, StorageError
from sagemaker_debug_ext.store.backends.base import Backend, Buffer, ByteRange, Changes, ObjectInfo, Watch, check_key

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

SCHEME: Final = "s3://"

_S = TypeVar("_S")
_T = TypeVar("_T")

_MIB: Final = 1 << 20
_NEAR_BYTES: Final = 256 << 10
"""Ranges of one object that lie nearer to each other than this are fetched by one request."""

_PART_BYTES: Final = 8 * _MIB
"""Larger ranges are fetched by several requests at once, larger objects written in parts."""

_MD5_TAG: Final = re.compile(r'"?[0-9a-f]{32}"?')
"""ETag of an object that was written in one piece. Under a key of KMS it looks the same and is no checksum."""

_BODY_ATTEMPTS: Final = 6
_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 5.0
_MISSING: Final = ("NoSuchKey", "404", "NotFound")
_BEYOND_THE_END: Final = ("InvalidRange", "416")
_REPLACED: Final = ("PreconditionFailed", "412")
_TAKEN: Final = ("PreconditionFailed", "412", "ConditionalRequestConflict", "409")
_UNKNOWN_CONDITION: Final = ("NotImplemented", "501")
_BROKEN_BODY: Final = (
    botocore.exceptions.ReadTimeoutError,
    botocore.exceptions.ResponseStreamingError,
    botocore.exceptions.IncompleteReadError,
    botocore.exceptions.HTTPClientError,
)
"""What may happen while the body of a response comes in, when botocore has done with its own attempts."""


@attrs.frozen(kw_only=True)
class S3Options:
    """How to reach S3, where boto3's own configuration does not say it.

    Args:
        endpoint_url: Another endpoint than AWS's.
        region_name: Region of the bucket.
        profile_name: Profile with the credentials to use.
        session: A boto3 session to use, instead of region and profile.
        client: An S3 client to use as it is, instead of all of the above and of the time-outs.
        requester_pays: Whether this account pays for requests to somebody else's bucket.
        encryption: Encryption of what is written, such as ``aws:kms``; by default the bucket's.
        kms_key_id: Key of that encryption.
        num_connections: How many requests may run at once.
        num_attempts: How often a request is tried, with growing, random pauses in between.
        connect_seconds: How long to wait for a connection.
        read_seconds: How long to wait for bytes of a response.
    """

    endpoint_url: str | None = None
    region_name: str | None = None
    profile_name: str | None = None
    session: boto3.Session | None = None
    client: S3Client | None = None
    requester_pays: bool = False
    encryption: str | None = None
    kms_key_id: str | None = None
    num_connections: int = attrs.field(default=16, validator=attrs.validators.ge(1))
    num_attempts: int = attrs.field(default=6, validator=attrs.validators.ge(1))
    connect_seconds: float = attrs.field(default=10.0, validator=attrs.validators.gt(0))
    read_seconds: float = attrs.field(default=30.0, validator=attrs.validators.gt(0))

    def make_client(self) -> S3Client:
        """Return a client."""
        if self.client is not None:
            return self.client
        session = self.session or boto3.Session(profile_name=self.profile_name, region_name=self.region_name)
        config = botocore.config.Config(
            connect_timeout=self.connect_seconds,
            read_timeout=self.read_seconds,
            max_pool_connections=self.num_connections,
            retries={"mode": "standard", "total_max_attempts": self.num_attempts},
        )
        client: S3Client = session.client("s3", endpoint_url=self.endpoint_url, config=config)
        return client


def split_s3_url(url: str) -> tuple[str, str]:
    """Return bucket and key of ``s3://bucket/key``; slashes at the end, and repeated ones, are dropped.

    Raises:
        SMDebugValueError: It is no such address.
    """
    bucket, _, key = url.removeprefix(SCHEME).partition("/")
    if not url.startswith(SCHEME) or not bucket:
        raise SMDebugValueError(f"an S3 location must look like s3://bucket/key (got {url!r})")
    return bucket, "/".join(part for part in key.split("/") if part)


class S3Backend(Backend):
    """Objects are S3 objects below a prefix of a bucket, which is never created.

    Requests are tried again after throttling, server errors and time-outs; a body that breaks off is continued where it
    broke, as long as the object is still the same.

    Args:
        bucket: The bucket.
        prefix: What all keys begin with, without the last slash.
        options: How to reach it.
        sleep: Sleeps for so many seconds, between two attempts to read a body.

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
        self._options = options or S3Options()
        self._sleep = sleep
        self._client = self._named("", self._options.make_client)
        self.cache_key = f"{self._client.meta.endpoint_url} {self.url}"
        self._payer: dict[str, Any] = {"RequestPayer": "requester"} if self._options.requester_pays else {}
        self._knows_conditions = _takes(self._client, "PutObject", "IfNoneMatch")
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None

    # --- listing -----------------------------------------------------------------------------------------------------

    def list(self, prefix: str = "") -> list[ObjectInfo]:
        return sorted(itertools.chain.from_iterable(self.list_pages(prefix)))

    def list_pages(self, prefix: str, after: str = "") -> Iterator[Sequence[ObjectInfo]]:
        """Yield the objects whose keys start with `prefix`, for each request.

        What does not fit into one answer is asked for folder by folder, many at a time.

        Args:
            prefix: As for `list`.
            after: Only keys after this one.
        """
        found, token = self._page(prefix, after)
        yield found
        if token and prefix.endswith("/"):
            yield from self._list_folders(prefix, found[-1].key)
            return
        while token:
            found, token = self._page(prefix, token=token)
            yield found

    def _list_folders(self, prefix: str, after: str) -> Iterator[Sequence[ObjectInfo]]:
        """Yield what comes after a key, all folders right below `prefix` at once; no order is kept between them."""
        name, slash, _ = after.removeprefix(prefix).partition("/")
        folders = {prefix + name + slash} if slash else set()  # the rest of it, whether or not the server counts it
        more = {"StartAfter": self._root + after}
        while more:
            page = self._request_page(prefix, Delimiter="/", **more)
            yield [self._info(item) for item in page.get("Contents", ())]
            folders.update(each["Prefix"][len(self._root) :] for each in page.get("CommonPrefixes", ()))
            token = page.get("NextContinuationToken")
            more = {"ContinuationToken": token} if token else {}
        for pages in self._parallel(lambda folder: self._pages_of(folder, after), sorted(folders)):
            if isinstance(pages, OSError):
                raise pages
            yield from pages

    def _pages_of(self, folder: str, after: str) -> Sequence[Sequence[ObjectInfo]]:
        found, token = self._page(folder, after if after.startswith(folder) else "")
        pages = [found]
        while token:
            found, token = self._page(folder, token=token)
            pages.append(found)
        return pages

    def _page(self, prefix: str, after: str = "", token: str = "") -> tuple[Sequence[ObjectInfo], str | None]:
        """Return what one request lists, and what to ask for the rest with; None if that was all."""
        more = {"ContinuationToken": token} if token else {"StartAfter": self._root + after} if after else {}
        page = self._request_page(prefix, **more)
        return [self._info(item) for item in page.get("Contents", ())], page.get("NextContinuationToken")

    def _request_page(self, prefix: str, **more: Any) -> Any:
        return self._named(
            prefix,
            self._client.list_objects_v2,
            Bucket=self.bucket,
            Prefix=self._root + prefix,
            **more,
            **self._payer,
        )

    def _info(self, item: Mapping[str, Any]) -> ObjectInfo:
        modified = item.get("LastModified")
        tag = item.get("ETag", "")
        return ObjectInfo(
            item["Key"][len(self._root) :],
            item["Size"],
            f"{tag}-{item['Size']}",
            modified.timestamp() if modified is not None else 0.0,
            tag.strip('"') if _MD5_TAG.fullmatch(tag) else "",
        )

    def watch(self, prefix: str) -> Watch:
        return _S3Watch(self, prefix)

    # --- reading -----------------------------------------------------------------------------------------------------

    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes | None:
        check_key(key)
        if length == 0:
            return b"" if self.exists(key) else None
        if length is not None and length > _PART_BYTES:
            return self._read_parts(key, start, length)
        content, _ = self._get(key, start, length)
        return content

    def _read_parts(self, key: str, start: int, length: int) -> bytes | None:
        """Read a large range by several requests, no more than the object has bytes for."""
        first, size = self._get(key, start, _PART_BYTES)
        end = min(start + length, size)
        if first is None or start + len(first) >= end:
            return first
        starts = range(start + len(first), end, _PART_BYTES)
        rest = [ByteRange(key, at, min(_PART_BYTES, end - at)) for at in starts]
        parts = [first]
        for part in self._parallel(lambda each: self._get(*each)[0], rest):
            if isinstance(part, OSError):
                raise part
            parts.append(part or b"")
        return b"".join(parts)

    def read_many(self, ranges: Iterable[ByteRange]) -> Sequence[Buffer | OSError | None]:
        wanted = list(ranges)
        merged, places = _merge_near(wanted)
        fetched = self._parallel(self._read_or_fail, merged)
        found: list[Buffer | OSError | None] = []
        for each, (position, offset) in zip(wanted, places, strict=True):
            content = fetched[position]
            if content is None or isinstance(content, OSError) or merged[position] == each:
                found.append(content)
            else:
                found.append(memoryview(content)[offset : offset + (each.length or 0)])
        return found

    def _parallel(self, ask: Callable[[_S], _T], questions: Sequence[_S]) -> Sequence[_T | OSError]:
        def attempt(each: _S) -> _T | OSError:
            try:
                return ask(each)
            except OSError as error:
                return error

        if len(questions) <= 1 or threading.current_thread().name.startswith(_THREAD_NAME):
            return [attempt(each) for each in questions]
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self._options.num_connections, _THREAD_NAME)
        return list(self._executor.map(attempt, questions))

    def _get(self, key: str, start: int, length: int | None) -> tuple[bytes | None, int]:
        """Return part of an object, and the size of all of it; None and 0 if there is none."""
        body = _Body(start, length)
        for attempt in itertools.count(1):
            try:
                response = self._client.get_object(
                    Bucket=self.bucket, Key=self._root + key, **body.wanted(), **self._payer
                )
            except botocore.exceptions.ClientError as error:
                code = _code(error)
                if code in _MISSING:
                    return None, 0
                if code in _BEYOND_THE_END:
                    return b"", start
                if code not in _REPLACED or attempt >= _BODY_ATTEMPTS:
                    raise self._describe(key, error) from error
                body = _Body(start, length)
                continue
            except botocore.exceptions.BotoCoreError as error:  # tried again and again already
                raise self._describe(key, error) from error
            try:
                body.take_in(response)
                return b"".join(body.pieces), body.size
            except _BROKEN_BODY as error:
                if attempt >= _BODY_ATTEMPTS:
                    raise self._describe(key, error) from error
                longest = min(_FIRST_PAUSE_SECONDS * 2**attempt, _LONGEST_PAUSE_SECONDS)
                self._sleep(random.uniform(0, longest))  # noqa: S311 - spreads attempts, keeps no secret
        raise AssertionError("unreachable")

    def exists(self, key: str) -> bool:
        check_key(key)
        try:
            self._named(key, self._client.head_object, Bucket=self.bucket, Key=self._root + key, **self._payer)
        except StorageError as error:
            if error.code in _MISSING:
                return False
            raise
        return True

    # --- writing -----------------------------------------------------------------------------------------------------

    def write(self, key: str, parts: Sequence[Buffer]) -> None:
        check_key(key)
        views = [memoryview(part).cast("B") for part in parts if len(part)]
        size = sum(view.nbytes for view in views)
        target = {"Bucket": self.bucket, "Key": self._root + key}
        extra = {**self._payer, **self._encryption()}
        if size <= _PART_BYTES:
            self._named(key, self._client.put_object, Body=b"".join(views), **target, **extra)
            return
        reader = io.BufferedReader(_Views(views), _MIB)
        self._named(key, self._client.upload_fileobj, reader, ExtraArgs=extra, **target)

    def create(self, key: str) -> bool:
        check_key(key)
        target = {"Bucket": self.bucket, "Key": self._root + key, **self._payer, **self._encryption()}
        if self._knows_conditions:
            try:
                self._named(key, self._client.put_object, Body=b"", IfNoneMatch="*", **target)
            except StorageError as error:
                if error.code in _TAKEN:
                    return False
                if error.code not in _UNKNOWN_CONDITION:
                    raise
                self._knows_conditions = False
            else:
                return True
        # Of two processes that create an object at the same moment, both believe to have been first. The marks of a
        # trial that are made here mean the same whoever made them; only claims do not, and those are for local folders.
        with self._lock:
            if self.exists(key):
                return False
            self._named(key, self._client.put_object, Body=b"", **target)
            return True

    def delete(self, key: str) -> None:
        check_key(key)
        self._named(key, self._client.delete_object, Bucket=self.bucket, Key=self._root + key, **self._payer)

    def _encryption(self) -> dict[str, str]:
        options = self._options
        chosen = {"ServerSideEncryption": options.encryption, "SSEKMSKeyId": options.kms_key_id}
        return {name: value for name, value in chosen.items() if value}

    # --- errors ------------------------------------------------------------------------------------------------------

    def _named(self, key: str, call: Callable[..., _T], *arguments: Any, **members: Any) -> _T:
        """Call, and say of a failure what it was about."""
        try:
            return call(*arguments, **members)
        except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
            raise self._describe(key, error) from error
        except boto3.exceptions.S3UploadFailedError as error:
            raise self._describe(key, error.__cause__ or error) from error

    def _describe(self, key: str, error: BaseException) -> StorageError:
        code = _code(error)
        advice = _advice(code, str(error), self.bucket)
        return StorageError(f"{self.url}/{key}".rstrip("/"), f"{error}{advice}", code)


_THREAD_NAME: Final = "sagemaker_debug_ext-s3"


class _S3Watch(Watch):
    """Lists only what comes after the settled steps; everything now and then, when asked to."""

    _backend: S3Backend

    def look(self, settled: str = "") -> Changes:
        return self._look_after(settled if settled.startswith(self._prefix) else "")

    def look_at_all(self) -> Changes:
        return self._look_after("")

    def _look_after(self, after: str) -> Changes:
        pages = list(self._backend.list_pages(self._prefix, after))
        changed = self._take_in(itertools.chain.from_iterable(pages))
        # One response shows one instant; of two, the second may hold what came after the first.
        return Changes(sorted(changed), is_snapshot=len(pages) == 1 or not changed)


class _Body:
    """What has come of a range of an object so far.

    Attributes:
        pieces: The bytes.
        size: Size of the whole object.
    """

    def __init__(self, start: int, length: int | None) -> None:
        self.pieces: list[bytes] = []
        self.size = 0
        self._start = start
        self._end = None if length is None else start + length
        self._version = ""

    def wanted(self) -> dict[str, Any]:
        """Return what to ask for: what is missing, of the same version of the object."""
        at = self._start + sum(map(len, self.pieces))
        members: dict[str, Any] = {"IfMatch": self._version} if self._version else {}
        if at or self._end is not None:
            members["Range"] = f"bytes={at}-{'' if self._end is None else self._end - 1}"
        return members

    def take_in(self, response: Mapping[str, Any]) -> None:
        """Add the body of a response, as far as it comes."""
        self._version = response.get("ETag", "")
        self.size = _size_of(response)
        for piece in response["Body"].iter_chunks(_MIB):
            self.pieces.append(piece)


class _Views(io.RawIOBase):
    """Several buffers as one file, without a copy."""

    def __init__(self, views: Sequence[memoryview]) -> None:
        self._views = views
        self._ends = list(itertools.accumulate(view.nbytes for view in views))
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._ends[-1]}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def readinto(self, target: Any) -> int:
        room = memoryview(target).cast("B")
        for view, end in zip(self._views, self._ends, strict=True):
            if self._at < end:
                piece = view[view.nbytes - (end - self._at) :][: room.nbytes]
                room[: piece.nbytes] = piece
                self._at += piece.nbytes
                return piece.nbytes
        return 0


def _merge_near(ranges: Sequence[ByteRange]) -> tuple[list[ByteRange], list[tuple[int, int]]]:
    """Return as few ranges as make sense, and for each of `ranges` which one holds it and where."""
    merged: list[ByteRange] = []
    places = [(0, 0)] * len(ranges)
    for number in sorted(range(len(ranges)), key=lambda each: ranges[each][:2]):
        key, start, length = ranges[number]
        last = merged[-1] if merged else None
        if last is not None and last.key == key and last.length is not None and length is not None:
            end = last.start + last.length
            if start <= end + _NEAR_BYTES and max(end, start + length) - last.start <= _PART_BYTES:
                merged[-1] = ByteRange(key, last.start, max(end, start + length) - last.start)
                places[number] = (len(merged) - 1, start - last.start)
                continue
        merged.append(ranges[number])
        places[number] = (len(merged) - 1, 0)
    return merged, places


def _takes(client: S3Client, operation: str, member: str) -> bool:
    """Tell whether the installed boto3 knows a member of a request; conditional writes came with 1.35."""
    shape: Any = client.meta.service_model.operation_model(operation).input_shape
    return member in shape.members


def _size_of(response: Mapping[str, Any]) -> int:
    total = str(response.get("ContentRange", "")).rpartition("/")[2]
    return int(total) if total.isdecimal() else int(response.get("ContentLength", 0))


def _code(error: BaseException) -> str:
    if isinstance(error, botocore.exceptions.ClientError):
        return str(error.response.get("Error", {}).get("Code", ""))
    return type(error).__name__


def _advice(code: str, text: str, bucket: str) -> str:
    if "KMS" in code.upper() or ("kms" in text.lower() and code == "AccessDenied"):
        return " (the key that encrypts the object must allow kms:Decrypt to read, kms:GenerateDataKey to write)"
    if code in ("AccessDenied", "403", "Forbidden", "AllAccessDisabled"):
        return (
            f" (needed on bucket {quote(bucket)}: s3:ListBucket, and s3:GetObject to read, s3:PutObject to write; for"
            " a bucket whose requests the reader pays, requester_pays)"
        )
    if code in ("NoSuchBucket", "InvalidBucketName"):
        return " (buckets are not created)"
    if code in ("NoCredentialsError", "PartialCredentialsError", "ExpiredToken", "InvalidAccessKeyId"):
        return " (see S3Options for profile_name and session)"
    return ""
