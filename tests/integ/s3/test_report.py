"""A report of a trial on S3 that is written to S3, too."""

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


@pytest.mark.parametrize("path", ["s3://bucket", "s3://bucket/", "s3://", "s3:///page.html"])
def test_report_when_the_address_has_no_key_then_refused(path):
    """Nothing is sent."""
    with pytest.raises(SMDebugValueError):
        write_page(path, "")
