"""The six recorded cases, sent by the real SDK with our mixin and our objects."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest
from sagemaker.pytorch import PyTorch

from sagemaker_debug_ext.requests import DEBUGGER_MEMBERS
from sagemaker_debug_ext.sdk import with_debugger
from support.aws import ROLE
from support.requests import (
    RECORDED_RULE_FILE,
    RECORDED_SETTINGS,
    normalised,
    recorded_request,
)

VERSION = tuple(int(part) for part in version("sagemaker").split(".")[:2])
pytestmark = pytest.mark.skipif(VERSION < (2, 200), reason="the release does not know the framework of the recordings")

PAYLOADS = Path(__file__).parents[2] / "golden" / "payloads"
OF_THE_JOB = {
    "v2_mixed_rules": {"output_path": "s3://my-bucket/out"},
    "v2_tensorboard_profiler": {"instance_type": "ml.p3.8xlarge"},
}
"""What a case says of the job itself."""


def comparable(request):
    """Leave out the random or content-made folder into which a rule's file is uploaded."""
    members = normalised(request)
    for rule in members.get("DebugRuleConfigurations", []):
        if "source_s3_uri" in rule["RuleParameters"]:
            start, _, name = rule["RuleParameters"]["source_s3_uri"].rsplit("/", 2)
            rule["RuleParameters"]["source_s3_uri"] = f"{start}/…/{name}"
    return members


@pytest.mark.parametrize("case", RECORDED_SETTINGS)
def test_fit_of_a_recorded_case_sends_what_was_recorded(case, session, requests, script, tmp_path):
    """Debugger members are equal but for the allowed differences, and nothing else of the request changes."""
    (tmp_path / RECORDED_RULE_FILE).write_text("class CustomGradientRule: ...\n")
    recorded = recorded_request(PAYLOADS, case)
    estimator = with_debugger(PyTorch)(
        **{
            "entry_point": script,
            "role": ROLE,
            "instance_type": "ml.p3.2xlarge",
            "instance_count": 1,
            "framework_version": "1.13.1",
            "py_version": "py39",
            "sagemaker_session": session,
            **RECORDED_SETTINGS[case](),
            **OF_THE_JOB.get(case, {}),
        }
    )
    estimator.fit(wait=False, job_name=recorded["TrainingJobName"])
    (request,) = requests
    assert comparable(request) == comparable(recorded)
    rest = set(request) - set(DEBUGGER_MEMBERS)
    assert rest == set(recorded) - set(DEBUGGER_MEMBERS)
    assert request["OutputDataConfig"] == recorded["OutputDataConfig"]
    name, default = recorded["TrainingJobName"], "s3://sagemaker-us-east-1-123456789012"
    hook, out = {
        "v2_hook_collections": ("s3://my-bucket/debugger", default),
        "v2_mixed_rules": ("s3://my-bucket/out", "s3://my-bucket/out"),
        "v2_opt_out": (None, default),
    }.get(case, (default, default))
    tensorboard = "s3://my-bucket/tb" if case == "v2_tensorboard_profiler" else None
    assert estimator.latest_job_debugger_artifacts_path() == (hook and f"{hook}/{name}/debug-output")
    assert estimator.latest_job_profiler_artifacts_path() == f"{out}/{name}/profiler-output"
    assert estimator.latest_job_tensorboard_artifacts_path() == (
        tensorboard and f"{tensorboard}/{name}/tensorboard-output"
    )
