"""Local paths for the locations in a request.

A bucket is a folder: ``s3://bucket/some/key`` is ``<work folder>/s3/bucket/some/key``. All other modules of this
package resolve locations here, so that a subclass can put an S3 server in place of the folders.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from sagemaker_debug_ext._s3_urls import SCHEME, split_s3_url
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.backends import Backend, open_backend

_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


def split_s3_uri(uri: str) -> tuple[str, str]:
    """Split ``s3://bucket/key`` into bucket and key; repeated and trailing slashes of the key are dropped.

    Raises:
        SMDebugValueError: The value is not an S3 URI, the bucket name is not allowed, or the key contains ``.`` or
            ``..``, which would be another key as a folder.
    """
    bucket, key = split_s3_url(uri)
    if not _BUCKET.fullmatch(bucket):
        raise SMDebugValueError(
            f"the bucket of {uri!r} must be 3 to 63 lower-case letters, digits, dots or hyphens (got {bucket!r})"
        )
    if "\0" in key or not {".", ".."}.isdisjoint(key.split("/")):
        raise SMDebugValueError(f"the key of {uri!r} must not hold '.' or '..' as a folder, nor a NUL character")
    return bucket, key


def join_location(location: str, *parts: str) -> str:
    """Join a location and other parts with single slashes."""
    return "/".join([location.rstrip("/"), *(part.strip("/") for part in parts)])


class Locations:
    """Maps locations in requests to local files.

    Args:
        work_dir: The work folder; it need not exist yet.
    """

    def __init__(self, work_dir: str | os.PathLike[str]) -> None:
        self.work_dir: Final = Path(work_dir).expanduser().absolute()
        self.s3_root: Final = self.work_dir / "s3"

    def path(self, location: str) -> Path:
        """Return the file or folder of an S3 URI, a ``file://`` URI or a plain local path.

        Raises:
            SMDebugValueError: The location has another form, or is outside its bucket.
        """
        if location.startswith(SCHEME):
            bucket, key = split_s3_uri(location)
            return self.s3_root / bucket / key
        if location.startswith("file://"):
            parts = urlsplit(location)
            if parts.netloc not in {"", "localhost"} or not parts.path:
                raise SMDebugValueError(f"a file URI must look like file:///folder/file (got {location!r})")
            return Path(unquote(parts.path))
        if not location or "://" in location:
            raise SMDebugValueError(
                f"a location must be an s3:// URI, a file:// URI or a local path (got {location!r})"
            )
        return Path(location).expanduser().absolute()

    def input_path(self, location: str, *, anew: bool = False) -> Path:  # noqa: ARG002 - for subclasses
        """Return `path`, whose content is complete; a subclass may have to fetch it.

        Args:
            location: The location.
            anew: Whether its content may have changed since it was fetched.

        Raises:
            SMDebugValueError: The location has another form, or is outside its bucket.
        """
        return self.path(location)

    def url(self, location: str) -> str:
        """Return the path or S3 URI that this machine opens for a location."""
        return str(self.path(location))

    def uri(self, path: Path) -> str:
        """Return the location of a path: an S3 URI below the folder of buckets; the inverse of `path`."""
        try:
            key = path.relative_to(self.s3_root)
        except ValueError:
            return str(path)
        return SCHEME + str(PurePosixPath(key))

    def backend(self, location: str) -> Backend:
        """Return the storage back end for a location."""
        return open_backend(self.path(location))
