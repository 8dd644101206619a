"""The interval in the configuration file of a job, which changes while it runs."""

from __future__ import annotations

import json
import re

import pytest

from sagemaker_debug_ext.profiler.sampler.requested_interval import RequestedInterval


def test_interval_when_the_file_changes_then_follows_it(tmp_path):
    """A file may come late, name another interval, switch sampling off and on, or name no interval."""
    path = tmp_path / "profilerconfig.json"
    requested = RequestedInterval(str(path), 0.5)
    assert requested() == 0.5
    steps = [
        ({"ProfilingIntervalInMilliseconds": 1000}, 1.0),
        ({"DisableProfiler": True, "ProfilingIntervalInMilliseconds": 1000}, None),
        ({"DisableProfiler": False, "ProfilingIntervalInMilliseconds": 200}, 0.2),
        ({"S3OutputPath": "s3://bucket/p"}, 0.5),
    ]
    for content, seconds in steps:
        path.write_text(json.dumps(content))
        assert requested() == seconds
    path.unlink()
    assert requested() == 0.5


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "does not change the sampling"),
        ("[]", "it must be a JSON object"),
        ('{"ProfilingIntervalInMilliseconds": 50}', r"from 100 to 60000 \(got 50\)"),
        ('{"ProfilingIntervalInMilliseconds": "200"}', r"whole number .*\(got '200'\)"),
        ('{"ProfilingIntervalInMilliseconds": true}', r"\(got True\)"),
    ],
)
def test_interval_when_the_file_is_wrong_then_stays_and_says_so_once(text, told, tmp_path, caplog):
    """A wrong update neither ends sampling nor changes it."""
    path = tmp_path / "profilerconfig.json"
    path.write_text('{"ProfilingIntervalInMilliseconds": 200}')
    requested = RequestedInterval(str(path), 0.5)
    assert requested() == 0.2
    path.write_text(f"{text}\n")
    assert [requested(), requested()] == [0.2, 0.2]
    (record,) = caplog.records
    assert re.search(told, record.getMessage())
