"""Puts local files with the code of custom rules on S3, where the rule evaluators find them.

Their keys hold a checksum of their content: the same file always gets the same key, so that a pipeline that is built
twice has the same definition, and a changed file a new one, so that a job that runs keeps its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import attrs

from sagemaker_debug_ext.config.rules import ProfilerRule, Rule
from sagemaker_debug_ext.requests.from_sdk import rules_from_sdk


class Destination(Protocol):
    """Where files go."""

    def uri(self, key: str) -> str:
        """Return the location on S3 of a key."""

    def put(self, path: Path, key: str) -> None:
        """Upload a file."""


def _joined(*parts: str | None) -> str:
    return "/".join(part.strip("/") for part in parts if part and part.strip("/"))


@attrs.frozen
class Bucket:
    """A bucket, reached through a boto3 client for S3."""

    client: Any
    bucket: str
    prefix: str | None = None

    def uri(self, key: str) -> str:
        """Return the location on S3 of a key."""
        return f"s3://{_joined(self.bucket, self.prefix, key)}"

    def put(self, path: Path, key: str) -> None:
        """Upload a file."""
        self.client.upload_file(str(path), self.bucket, _joined(self.prefix, key))


@attrs.frozen
class SessionBucket:
    """The default bucket of a session of the SageMaker SDK, with its default prefix."""

    session: Any

    @property
    def _prefix(self) -> str | None:
        # Sessions of old releases have no prefix.
        return getattr(self.session, "default_bucket_prefix", None)

    def uri(self, key: str) -> str:
        """Return the location on S3 of a key."""
        return f"s3://{_joined(self.session.default_bucket(), self._prefix, key)}"

    def put(self, path: Path, key: str) -> None:
        """Upload a file."""
        folder, _, _ = key.rpartition("/")
        self.session.upload_data(
            path=str(path), bucket=self.session.default_bucket(), key_prefix=_joined(self._prefix, folder)
        )


@attrs.frozen
class SourceUploads:
    """The uploads that a job's rules need. Make one with `plan`; nothing is sent before `send`.

    Args:
        keys: Source as the rule names it → key of its file.
        destination: Where the files go.
    """

    keys: Mapping[str, str]
    destination: Destination

    @classmethod
    def plan(cls, rules: Iterable[Rule | ProfilerRule], destination: Destination) -> SourceUploads:
        """Find the local files of rules.

        Raises:
            FileNotFoundError: A file does not exist.
        """
        keys: dict[str, str] = {}
        for rule in rules:
            source = rule.source
            if isinstance(source, str) and not source.startswith("s3://"):
                keys.setdefault(source, _key(str(rule.name), _path(source)))
        return cls(keys, destination)

    @property
    def uris(self) -> dict[str, str]:
        """Source → location on S3, as `debugger_request` takes it."""
        return {source: self.destination.uri(key) for source, key in self.keys.items()}

    def send(self) -> None:
        """Upload the files."""
        for source, key in self.keys.items():
            self.destination.put(_path(source), key)


def _path(source: str) -> Path:
    return Path(source.removeprefix("file://"))


def _key(rule_name: str, path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:  # the same kind again, with the rule in it
        raise OSError(error.errno, f"source of rule {rule_name!r}: {error.strerror}", str(path)) from error
    checksum = hashlib.sha256(content).hexdigest()[:32]
    return f"{rule_name}/{checksum}/{path.name}"


def upload_rule_sources(rules: Any, s3_client: Any, bucket: str, prefix: str | None = None) -> dict[str, str]:
    """Put the local files of custom rules in a bucket, for `debugger_request` and `attach_debugger`.

    Example:
        >>> uris = upload_rule_sources(rules, boto3.client("s3"), "my-bucket")  # doctest: +SKIP
        >>> members = debugger_request(rules=rules, source_uris=uris, ...)  # doctest: +SKIP

    Args:
        rules: The rules, ours or the SDK's.
        s3_client: A boto3 client for S3.
        bucket: Name of the bucket.
        prefix: What the keys begin with.

    Returns:
        Source as the rule names it → location on S3.

    Raises:
        FileNotFoundError: A file does not exist.
    """
    uploads = SourceUploads.plan(rules_from_sdk(rules), Bucket(s3_client, bucket, prefix))
    uploads.send()
    return uploads.uris
