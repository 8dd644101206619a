"""S3 of the laptop: inputs are fetched from it, outputs are written to it, and its content is kept in a folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePosixPath

from sagemaker_debug_ext._s3_urls import SCHEME
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.local.archives import files_below
from sagemaker_debug_ext.local.paths import Locations, split_s3_uri
from sagemaker_debug_ext.store.backends import Backend
from sagemaker_debug_ext.store.backends.s3 import S3Backend, S3Options


class S3Locations(Locations):
    """Maps locations in the request of one job to an S3 server.

    Args:
        folder: Local folder for fetched inputs.
        options: How to connect to the server.
    """

    def __init__(self, folder: str | os.PathLike[str], options: S3Options) -> None:
        super().__init__(folder)
        self._options = options
        self._fetched: set[str] = set()

    def input_path(self, location: str, *, anew: bool = False) -> Path:
        """Return the local file or folder for a location; objects are fetched once.

        Args:
            location: The location.
            anew: Whether to fetch its objects again.

        Raises:
            SMDebugValueError: The location has another form, or is outside its bucket.
            StorageError: The objects cannot be fetched.
        """
        path = self.path(location)
        if location.startswith(SCHEME) and (anew or location not in self._fetched):
            bucket, prefix = split_s3_uri(location)
            shutil.rmtree(path, ignore_errors=True)
            download(S3Backend(bucket, options=self._options), prefix, self.s3_root / bucket)
            self._fetched.add(location)
        return path

    def url(self, location: str) -> str:
        """Return the path or S3 URI that this machine opens for a location."""
        return location if location.startswith(SCHEME) else super().url(location)

    def backend(self, location: str) -> Backend:
        """Return the storage back end for a location."""
        if not location.startswith(SCHEME):
            return super().backend(location)
        return S3Backend(*split_s3_uri(location), self._options)


def download(bucket: Backend, prefix: str, folder: Path) -> None:
    """Copy the objects whose keys start with a prefix to files; objects that mark a folder are skipped."""
    for info in bucket.list(prefix):
        if info.key.endswith("/"):
            continue
        path = folder / info.key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bucket.read(info.key) or b"")


def fetch(locations: Locations, uri: str, folder: Path) -> None:
    """Copy what an S3 prefix selects to a folder: the object of that name, or all objects below it.

    Raises:
        SMDebugValueError: The prefix selects nothing.
        StorageError: The objects cannot be fetched.
    """
    bucket, key = split_s3_uri(uri)
    backend = locations.backend(f"{SCHEME}{bucket}")
    found = [info.key for info in backend.list(key) if not info.key.endswith("/")]
    chosen = [name for name in found if name == key or not key or name.startswith(f"{key}/")] or found
    if not chosen:
        raise SMDebugValueError(f"an input must have data (nothing exists at {uri!r})")
    for name in chosen:
        path = folder / (name[len(key) :].lstrip("/") or PurePosixPath(name).name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(backend.read(name) or b"")


def save_buckets(folder: Path, options: S3Options) -> None:
    """Copy all buckets of a server to folders of their names, in place of what the folder held."""
    unfinished = folder.with_name(f"{folder.name}.tmp")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for bucket in options.make_client().list_buckets()["Buckets"]:
        path = unfinished / bucket["Name"]
        path.mkdir()
        download(S3Backend(bucket["Name"], options=options), "", path)
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)


def load_buckets(folder: Path, options: S3Options) -> None:
    """Create buckets from folders, as `save_buckets` wrote them."""
    if not folder.is_dir():
        return
    client = options.make_client()
    for path in sorted(folder.iterdir()):
        client.create_bucket(Bucket=path.name)
        backend = S3Backend(path.name, options=options)
        for key, file in files_below(path):
            backend.write(key, [file.read_bytes()])
