"""Upload of local files with the code of custom rules to S3, from which the rule evaluators read them.

Keys contain a checksum of the file. Equal files therefore have equal keys, so that building a pipeline twice results in
the same definition. A changed file has a new key, so that running jobs keep their version.
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
    """A destination of uploads."""

    def uri(self, key: str) -> str:
        """Return the location on S3 of a key."""

    def put(self, path: Path, key: str) -> None:
        """Upload a file."""


def _joined(*parts: str | None) -> str:
    return "/".join(part.strip("/") for part in parts if part and part.strip("/"))


@attrs.frozen
class Bucket:
    """A bucket, accessed through a boto3 client for S3."""

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
    """The uploads that a job's rules need. Create one with `plan`; nothing is uploaded before `send`.

    Args:
        keys: Source in the rule → key of its file.
        destination: Destination of the files.
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
        """Source → S3 location, the argument ``source_uris`` of `debugger_request`."""
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
    except OSError as error:  # raise the same class again, with the name of the rule
        raise OSError(error.errno, f"source of rule {rule_name!r}: {error.strerror}", str(path)) from error
    checksum = hashlib.sha256(content).hexdigest()[:32]
    return f"{rule_name}/{checksum}/{path.name}"


def upload_rule_sources(rules: Any, s3_client: Any, bucket: str, prefix: str | None = None) -> dict[str, str]:
    """Upload the local files of custom rules to a bucket, for `debugger_request` and `attach_debugger`.

    Example:
        >>> uris = upload_rule_sources(rules, boto3.client("s3"), "my-bucket")  # doctest: +SKIP
        >>> members = debugger_request(rules=rules, source_uris=uris, ...)  # doctest: +SKIP

    Args:
        rules: The rules, ours or the SDK's.
        s3_client: A boto3 client for S3.
        bucket: Name of the bucket.
        prefix: Prefix of the keys.

    Returns:
        Source in the rule → S3 location.

    Raises:
        FileNotFoundError: A file does not exist.
    """
    uploads = SourceUploads.plan(rules_from_sdk(rules), Bucket(s3_client, bucket, prefix))
    uploads.send()
    return uploads.uris
