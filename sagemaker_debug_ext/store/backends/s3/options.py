"""Options of connections to S3."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import attrs
import boto3
import botocore.config
import botocore.loaders
import botocore.session

from sagemaker_debug_ext._s3_urls import KMS_VARIABLE

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class _Descriptions(botocore.loaders.Loader):
    """Reads botocore's descriptions of services once for all sessions, which takes most of the time of a client."""

    @property
    def search_paths(self) -> list[str]:
        """The folders with descriptions; a copy, because each session of boto3 adds one, with resources."""
        return list(super().search_paths)


_DESCRIPTIONS: Final = _Descriptions()


def _key_of_environment() -> str | None:
    return os.environ.get(KMS_VARIABLE) or None


@attrs.frozen(kw_only=True)
class S3Options:
    """How to connect to S3; defaults come from boto3's own configuration.

    Args:
        endpoint_url: Endpoint to use instead of that of AWS.
        region_name: Region of the bucket.
        profile_name: Profile with the credentials to use.
        session: A boto3 session to use instead of region and profile.
        client: An S3 client to use as it is, instead of all options above and of the timeouts.
        requester_pays: Whether this account pays for requests to another account's bucket.
        encryption: Encryption of written objects; by default ``aws:kms`` with a key, and that of the bucket without.
        kms_key_id: KMS key of the encryption; by default that which `KMS_VARIABLE` names. An encryption without KMS
            uses none.
        num_connections: Maximum number of concurrent requests.
        num_attempts: Maximum number of attempts per request, with growing random delays.
        connect_seconds: Timeout for a connection.
        read_seconds: Timeout for bytes of a response.
        keep_trying: Called after all attempts of a request have failed because S3 is out of reach; returns whether to
            try again. None does not try again.
        keep_bytes: Size limit of a temporary file that keeps ranges of objects, such as those of event files, so that
            each is requested once; 0 keeps nothing. Only for objects that are not written anew meanwhile.
    """

    endpoint_url: str | None = None
    region_name: str | None = None
    profile_name: str | None = None
    session: boto3.Session | None = None
    client: S3Client | None = None
    requester_pays: bool = False
    encryption: str | None = None
    kms_key_id: str | None = attrs.field(factory=_key_of_environment)
    num_connections: int = attrs.field(default=16, validator=attrs.validators.ge(1))
    num_attempts: int = attrs.field(default=6, validator=attrs.validators.ge(1))
    connect_seconds: float = attrs.field(default=10.0, validator=attrs.validators.gt(0))
    read_seconds: float = attrs.field(default=30.0, validator=attrs.validators.gt(0))
    keep_trying: Callable[[], bool] | None = None
    keep_bytes: int = attrs.field(default=0, validator=attrs.validators.ge(0))

    def make_client(self) -> S3Client:
        """Return an S3 client with these options."""
        if self.client is not None:
            return self.client
        session = self.session or self._make_session()
        config = botocore.config.Config(
            connect_timeout=self.connect_seconds,
            read_timeout=self.read_seconds,
            max_pool_connections=self.num_connections,
            retries={"mode": "standard", "total_max_attempts": self.num_attempts},
        )
        client: S3Client = session.client("s3", endpoint_url=self.endpoint_url, config=config)
        return client

    def _make_session(self) -> boto3.Session:
        """Return a boto3 session that shares the descriptions of services with other sessions of this process."""
        session = botocore.session.Session(profile=self.profile_name)
        if session.get_config_variable("data_path") is None:
            session.register_component("data_loader", _DESCRIPTIONS)
        return boto3.Session(botocore_session=session, region_name=self.region_name)
