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

    def put(self, path: Path, key: str) -> str:
        """Upload a file, and return its location on S3."""


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

    def put(self, path: Path, key: str) -> str:
        """Upload a file, and return its location on S3."""
        self.client.upload_file(str(path), self.bucket, _joined(self.prefix, key))
        return self.uri(key)


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

    def put(self, path: Path, key: str) -> str:
        """Upload a file, and return its location on S3, which the session decides."""
        folder, _, _ = key.rpartition("/")
        uri: str = self.session.upload_data(
            path=str(path), bucket=self.session.default_bucket(), key_prefix=_joined(self._prefix, folder)
        )
        return uri


@attrs.frozen
class SourceFile:
    """A local file with the code of a rule.

    Args:
        rule_name: Name of the rule.
        path: The file.
    """

    rule_name: str
    path: Path

    @property
    def key(self) -> str:
        """Key of the upload. That of a file that cannot be read has no checksum; its upload raises."""
        try:
            checksum = hashlib.sha256(self.path.read_bytes()).hexdigest()[:32]
        except OSError:
            return f"{self.rule_name}/{self.path.name}"
        return f"{self.rule_name}/{checksum}/{self.path.name}"


@attrs.frozen
class SourceUploads:
    """The uploads that a job's rules need. Create one with `plan`; nothing is uploaded before `send`.

    Args:
        files: Source in the rule → its file.
        destination: Destination of the files.
    """

    files: Mapping[str, SourceFile]
    destination: Destination

    @classmethod
    def plan(cls, rules: Iterable[Rule | ProfilerRule], destination: Destination) -> SourceUploads:
        """Find the local files of rules."""
        files: dict[str, SourceFile] = {}
        for rule in rules:
            source = rule.source
            if isinstance(source, str) and not source.startswith("s3://"):
                files.setdefault(source, SourceFile(str(rule.name), Path(source.removeprefix("file://"))))
        return cls(files, destination)

    @property
    def uris(self) -> dict[str, str]:
        """Source → the S3 location that it will have, the argument ``source_uris`` of `debugger_request`."""
        return {source: self.destination.uri(file.key) for source, file in self.files.items()}

    def send(self) -> dict[str, str]:
        """Upload the files, and return source → S3 location.

        Raises:
            FileNotFoundError: A file does not exist.
        """
        return {source: self._put(file) for source, file in self.files.items()}

    def _put(self, file: SourceFile) -> str:
        try:
            return self.destination.put(file.path, file.key)
        except FileNotFoundError as error:
            text = f"source of rule {file.rule_name!r}: {error.strerror}"
            raise FileNotFoundError(error.errno, text, str(file.path)) from error


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
    return SourceUploads.plan(rules_from_sdk(rules), Bucket(s3_client, bucket, prefix)).send()
