"""The CloudFormation template as a linter and a scanner for security see it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cfnlint")
pytest.importorskip("checkov")

import cfnlint.api
from cfnlint.config import ManualArgs

from sagemaker_debug_ext.template import render_template

REGIONS = ["us-east-1", "cn-north-1", "ap-southeast-5"]


@pytest.fixture
def scan(tmp_path):
    """Return a function that scans a template with checkov and returns the checks by their outcome."""

    def run(text):
        path = tmp_path / "template.yaml"
        path.write_text(text)
        checkov = Path(sys.executable).with_name("checkov")
        command = [checkov, "-f", path, "--framework", "cloudformation", "--skip-download", "-o", "json"]
        report = subprocess.run(command, capture_output=True, text=True, check=False)
        return json.loads(report.stdout)["results"]

    return run


def failed(results):
    return sorted({(check["check_id"], check["resource"]) for check in results["failed_checks"]})


def lint(text):
    """Return what the linter finds for a usual region, an isolated one, and a new one; for all it takes a minute."""
    return cfnlint.api.lint(text, config=ManualArgs(regions=REGIONS))


def test_template_when_linted_then_has_no_error_and_no_warning():
    """The linter finds what is wrong in a template that is."""
    found = [match for match in lint(render_template()) if not match.rule.id.startswith("I")]
    assert found == []
    wrong = render_template().replace("Runtime: python3.13", "Runtime: python2.0")
    assert any(match.rule.id.startswith("E") for match in lint(wrong))


def test_template_when_scanned_then_each_check_passes_or_is_waived_with_a_reason(scan):
    """The reasons stand in the template, where those read them who deploy it."""
    results = scan(render_template())
    assert failed(results) == []
    waived = {check["check_id"]: check["check_result"]["suppress_comment"] for check in results["skipped_checks"]}
    assert sorted(waived) == ["CKV_AWS_115", "CKV_AWS_117", "CKV_AWS_158", "CKV_AWS_173", "CKV_AWS_27"]
    assert all(len(reason) > 20 for reason in waived.values())


def test_template_when_it_is_less_secure_then_the_scanner_says_so(scan):
    """A topic without encryption, and a function without a queue for what it fails to handle."""
    text = render_template()
    for part in (
        "      KmsMasterKeyId: alias/aws/sns\n",
        "      DeadLetterConfig: {TargetArn: !GetAtt FailedEvents.Arn}\n",
    ):
        assert part in text
        text = text.replace(part, "")
    text = text.replace(
        "  Topic:\n    Type: AWS::SNS::Topic\n    Properties:\n", "  Topic:\n    Type: AWS::SNS::Topic\n"
    )
    assert failed(scan(text)) == [
        ("CKV_AWS_116", "AWS::Lambda::Function.Control"),
        ("CKV_AWS_26", "AWS::SNS::Topic.Topic"),
    ]
