"""Metrics of a watched job for CloudWatch, so that alarms and dashboards can use them."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import botocore.exceptions

from sagemaker_debug_ext.rules.action import ClientFactory, aws_client

NAMESPACE: Final = "SageMakerDebugExt"
UNITS: Final[Mapping[str, str]] = {"IssuesFound": "Count", "LagSeconds": "Seconds", "JudgedStep": "None"}
"""The metrics, and their units as CloudWatch names them: the number of rules that found an issue, the age of the state
that the rules have evaluated, and the last step that they evaluated."""

INTERVAL_SECONDS: Final = 60.0
"""Time between two values; CloudWatch stores one a minute."""

_LOG: Final = logging.getLogger(__name__)
_LAST_VALUE_SECONDS: Final = 10.0


def metric_data(job_name: str, values: Mapping[str, float]) -> dict[str, Any]:
    """Return the arguments of a PutMetricData request.

    Rules have no dimension, because CloudWatch bills each combination of dimensions.

    Args:
        job_name: Name of the training job, the only dimension.
        values: Values of metrics in `UNITS`, by name.
    """
    dimensions = [{"Name": "TrainingJobName", "Value": job_name}]
    data = [
        {"MetricName": name, "Dimensions": dimensions, "Value": value, "Unit": UNITS[name]}
        for name, value in values.items()
    ]
    return {"Namespace": NAMESPACE, "MetricData": data}


@contextlib.contextmanager
def sent_metrics(
    job_name: str,
    values: Callable[[], Mapping[str, float]],
    client_factory: ClientFactory = aws_client,
    interval_seconds: float = INTERVAL_SECONDS,
) -> Iterator[None]:
    """Send the metrics at intervals and at the end of the block, from a thread of its own.

    The end of the block waits a few seconds for the last values. After a refusal nothing more is sent.

    Args:
        job_name: Name of the training job.
        values: Returns the values that are known, by name; see `UNITS`.
        client_factory: Makes the AWS client of a service, by name.
        interval_seconds: Time between two requests.
    """
    ended = threading.Event()

    def run() -> None:
        try:
            client = client_factory("cloudwatch")
            is_last = False
            while not is_last:
                is_last = ended.wait(interval_seconds)
                client.put_metric_data(**metric_data(job_name, values()))
        except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
            _LOG.warning("no metrics are sent to CloudWatch: %s; SelfManaged(metrics=False) asks for none", error)

    thread = threading.Thread(target=run, name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_LAST_VALUE_SECONDS)
