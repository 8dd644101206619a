"""A metric of a watched job for CloudWatch, so that alarms and dashboards can use it."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import botocore.exceptions

from sagemaker_debug_ext.rules.action import ClientFactory, aws_client

NAMESPACE: Final = "SageMakerDebugExt"
METRIC: Final = "IssuesFound"
INTERVAL_SECONDS: Final = 60.0
"""Time between two values; CloudWatch stores one a minute."""

_LOG: Final = logging.getLogger(__name__)
_LAST_VALUE_SECONDS: Final = 10.0


def issue_metric(job_name: str, num_rules: int) -> dict[str, Any]:
    """Return the arguments of a PutMetricData request.

    Rules have no dimension, because CloudWatch bills each combination of dimensions.

    Args:
        job_name: Name of the training job, the only dimension.
        num_rules: Number of rules that found an issue.
    """
    dimensions = [{"Name": "TrainingJobName", "Value": job_name}]
    datum = {"MetricName": METRIC, "Dimensions": dimensions, "Value": float(num_rules), "Unit": "Count"}
    return {"Namespace": NAMESPACE, "MetricData": [datum]}


@contextlib.contextmanager
def sent_metric(
    job_name: str,
    count: Callable[[], int],
    client_factory: ClientFactory = aws_client,
    interval_seconds: float = INTERVAL_SECONDS,
) -> Iterator[None]:
    """Send the metric at intervals and at the end of the block, from a thread of its own.

    The end of the block waits a few seconds for the last value. After a refusal nothing more is sent.

    Args:
        job_name: Name of the training job.
        count: Returns the number of rules that found an issue.
        client_factory: Makes the AWS client of a service, by name.
        interval_seconds: Time between two values.
    """
    ended = threading.Event()

    def run() -> None:
        try:
            client = client_factory("cloudwatch")
            is_last = False
            while not is_last:
                is_last = ended.wait(interval_seconds)
                client.put_metric_data(**issue_metric(job_name, count()))
        except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
            _LOG.warning("no metrics are sent to CloudWatch: %s; SelfManaged(metrics=False) asks for none", error)

    thread = threading.Thread(target=run, name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_LAST_VALUE_SECONDS)
