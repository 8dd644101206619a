"""The metrics of a watched job for CloudWatch."""

from __future__ import annotations

import itertools
import threading

import botocore.exceptions
import botocore.session
import botocore.stub
import pytest

from sagemaker_debug_ext.watch.metrics import UNITS, metric_data, sent_metrics

REFUSAL = botocore.exceptions.ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "PutMetricData")


class Client:
    """Takes values; `sent` is set after the second one."""

    def __init__(self, error=None):
        self.error = error
        self.values = []
        self.sent = threading.Event()

    def put_metric_data(self, Namespace, MetricData):  # noqa: N803 - the names of AWS
        self.values += [datum["Value"] for datum in MetricData]
        if len(self.values) == 2:
            self.sent.set()
        if self.error is not None:
            raise self.error


def test_metric_when_it_is_sent_then_the_service_model_accepts_it():
    """The job is the only dimension."""
    client = botocore.session.get_session().create_client(
        "cloudwatch", "us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    expected = {
        "Namespace": "SageMakerDebugExt",
        "MetricData": [
            {
                "MetricName": name,
                "Dimensions": [{"Name": "TrainingJobName", "Value": "digits-1"}],
                "Value": 2.0,
                "Unit": unit,
            }
            for name, unit in [("IssuesFound", "Count"), ("LagSeconds", "Seconds"), ("JudgedStep", "None")]
        ],
    }
    with botocore.stub.Stubber(client) as stub:
        stub.add_response("put_metric_data", {}, expected)
        client.put_metric_data(**metric_data("digits-1", dict.fromkeys(UNITS, 2.0)))
        stub.assert_no_pending_responses()


def test_metric_when_the_watcher_works_then_values_follow_each_other():
    """Each value is counted when it is sent."""
    client, numbers = Client(), itertools.count()
    with sent_metrics(
        "digits-1", lambda: {"IssuesFound": next(numbers)}, lambda service: client, interval_seconds=0.001
    ):
        assert client.sent.wait(60)
    assert client.values == list(range(len(client.values)))


def test_metric_when_the_watcher_ends_then_the_last_value_is_sent():
    """A job that is shorter than the interval has a value, too."""
    client, num_issues = Client(), 0
    with sent_metrics("digits-1", lambda: {"IssuesFound": num_issues}, lambda service: client):
        num_issues = 1
    assert client.values == [1]


@pytest.mark.parametrize("error", [REFUSAL, botocore.exceptions.NoRegionError()])
def test_metric_when_aws_refuses_then_says_so_once_and_goes_on(error, caplog):
    """No rule waits for a permission."""
    client = Client(error)
    with sent_metrics("digits-1", lambda: {"IssuesFound": 1}, lambda service: client, interval_seconds=0.001):
        pass
    assert client.values == [1]
    assert caplog.text.count("no metrics are sent to CloudWatch") == 1


def test_metric_when_the_watcher_fails_then_its_error_passes():
    """The last value is sent all the same."""
    client = Client()
    with pytest.raises(KeyError), sent_metrics("digits-1", lambda: {"IssuesFound": 0}, lambda service: client):
        raise KeyError
    assert client.values == [0]
