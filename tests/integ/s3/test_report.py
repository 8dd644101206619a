"""A report of a trial on S3 that is written to S3, too."""

import collections

import boto3
import numpy as np
import pytest

from sagemaker_debug_ext.cli.main import main
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.looking.report import write_page
from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.vocabulary import ModeKeys


def test_report_when_written_to_s3_then_a_browser_shows_it(tmp_path, monkeypatch, bucket, s3_client, s3_server):
    """The object is the page, as HTML."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://{}:{}".format(*s3_server))
    steps = {(ModeKeys.TRAIN, step): {"gradient/w": np.full(3, np.nan if step else 1.0)} for step in range(4)}
    write_trial(f"s3://{bucket}/job", steps)
    assert main(["report", f"s3://{bucket}/job", "-o", f"s3://{bucket}/pages/report.html"]) == 1
    written = s3_client.get_object(Bucket=bucket, Key="pages/report.html")
    assert written["ContentType"] == "text/html; charset=utf-8"
    assert written["Body"].read().startswith(b"<!doctype html>")


@pytest.mark.parametrize("command", [["report", "-o"], ["rules", "run", "--recommended", "--report"]], ids=" ".join)
def test_report_when_the_trial_is_on_s3_then_each_event_file_is_requested_once(
    tmp_path, monkeypatch, bucket, proxy, command
):
    """Rules and views look at the same tensors."""
    random = np.random.default_rng(0)
    names = ["gradient/w", "w", "CrossEntropyLoss_output_0", "layer_output_0"]
    write_trial(
        tmp_path / "local",
        {(ModeKeys.TRAIN, step): {name: random.normal(size=(4, 3)) for name in names} for step in range(12)},
    )
    upload(tmp_path / "local", bucket, proxy.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    proxy.reset()
    *words, option = command
    assert main([*words, f"s3://{bucket}/job", option, str(tmp_path / "report.html")]) in (0, 1)
    assert (tmp_path / "report.html").exists()
    requested = collections.Counter(path for kind, path in proxy.paths if kind == "GET" and "/events/" in path)
    assert len(requested) == 12
    assert set(requested.values()) == {1}


def test_report_when_the_trial_has_a_summary_then_ten_requests_and_the_same_page(
    tmp_path, monkeypatch, bucket, s3_client, proxy
):
    """A copy of a trial on S3 keeps its summary, which is used until a file has another checksum."""
    random = np.random.default_rng(0)
    names = ["gradient/w", "w", "CrossEntropyLoss_output_0", "layer_output_0"]
    steps = {
        (ModeKeys.TRAIN, step): {name: random.normal(size=(4, 3)) for name in names} | {"learning_rate": 1 / (1 + step)}
        for step in range(12)
    }
    write_trial(tmp_path / "local", steps, workers=["worker_0", "worker_1"])
    monkeypatch.setenv("SAGEMAKER_DEBUG_EXT_CACHE_DIR", "off")
    assert main(["consolidate", str(tmp_path / "local"), "--summary"]) == 0
    upload(tmp_path / "local", bucket, proxy.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)

    def report():
        proxy.reset()
        status = main(["report", f"s3://{bucket}/job", "-o", str(tmp_path / "report.html")])
        kinds = collections.Counter(kind for kind, _ in proxy.paths if kind != "LIST")
        return status, (tmp_path / "report.html").read_text(), sum(kinds.values())

    status, page, num_requests = report()
    assert num_requests <= 10
    key = "job/events/000000000005/000000000005_worker_0.tfevents"
    content = bytearray(s3_client.get_object(Bucket=bucket, Key=key)["Body"].read())
    s3_client.put_object(Bucket=bucket, Key=key, Body=bytes(content[:-1]) + bytes([content[-1] ^ 1]))
    assert report()[2] > 24
    s3_client.put_object(Bucket=bucket, Key=key, Body=bytes(content))
    assert report()[2] == num_requests
    s3_client.delete_object(Bucket=bucket, Key="job/consolidated/summary")
    assert report()[:2] == (status, page)


def upload(folder, bucket, url):
    """Copy a trial to S3."""
    client = boto3.client("s3", endpoint_url=url)
    for path in folder.rglob("*"):
        if path.is_file():
            client.upload_file(str(path), bucket, f"job/{path.relative_to(folder).as_posix()}")


@pytest.mark.parametrize("path", ["s3://bucket", "s3://bucket/", "s3://", "s3:///page.html"])
def test_report_when_the_address_has_no_key_then_refused(path):
    """Nothing is sent."""
    with pytest.raises(SMDebugValueError):
        write_page(path, "")
