"""An AWS of one's own for tests: moto's server on this machine, reached over HTTP."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any, Final

import attrs
import pytest

ACCOUNT: Final = "123456789012"
ROLE: Final = f"arn:aws:iam::{ACCOUNT}:role/SageMakerRole"

_ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",  # not a secret: moto takes any
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_EC2_METADATA_DISABLED": "true",
    "NO_PROXY": "127.0.0.1",
    "SAGEMAKER_SUPPRESS_V2_WARNING": "1",
    "SAGEMAKER_VALIDATE_ROLE": "false",
}


@attrs.frozen
class FakeAWS:
    """A running server.

    Args:
        url: Its address.
        region: The region that clients use.
        monkeypatch: What has set the environment.
    """

    url: str
    region: str
    monkeypatch: pytest.MonkeyPatch

    @property
    def default_bucket(self) -> str:
        """Name of the bucket that the SageMaker SDK takes by default."""
        return f"sagemaker-{self.region}-{ACCOUNT}"

    def session(self, region: str | None = None) -> Any:
        """Return a boto3 session, as yet without clients."""
        import boto3  # heavy

        return boto3.Session(region_name=region or self.region)

    def client(self, service: str) -> Any:
        """Return a boto3 client."""
        return self.session().client(service)


@contextlib.contextmanager
def fake_aws(region: str = "us-east-1") -> Iterator[FakeAWS]:
    """Run a server for the time of the block, and let all clients of AWS talk to it."""
    from moto.server import ThreadedMotoServer  # needed by tests of submitting only

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in {**_ENVIRONMENT, "AWS_ENDPOINT_URL": url, "AWS_DEFAULT_REGION": region}.items():
            monkeypatch.setenv(name, value)
        aws = FakeAWS(url, region, monkeypatch)
        try:
            for bucket in (aws.default_bucket, "my-bucket"):
                aws.client("s3").create_bucket(Bucket=bucket)
            yield aws
        finally:
            server.stop()


@contextlib.contextmanager
def recorded_requests(session: Any, operation: str = "CreateTrainingJob") -> Iterator[list[dict[str, Any]]]:
    """Keep the requests of an operation that go through clients of a boto3 session, as botocore is about to check them.

    Register before the clients are made: they take over the session's handlers then.
    """
    requests: list[dict[str, Any]] = []

    def keep(params: dict[str, Any], **_: Any) -> None:
        requests.append(copy.deepcopy(params))

    event = f"before-parameter-build.sagemaker.{operation}"
    session.events.register_last(event, keep)
    try:
        yield requests
    finally:
        session.events.unregister(event, keep)
