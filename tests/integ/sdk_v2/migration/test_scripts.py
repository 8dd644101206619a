"""Scripts written for the SDK's debugger run after the import is renamed, and nothing else.

Each script runs twice: as it is, and with ``sagemaker.debugger`` renamed. Estimators are the SDK's own both times. The
requests are equal, but for what the SDK does wrong.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sagemaker.workflow.pipeline_context import PipelineSession

from support.aws import ROLE, recorded_requests
from support.requests import normalised

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))


def renamed(source):
    r"""Do what ``sed 's/sagemaker\.debugger/sagemaker_debug_ext/'`` does."""
    return source.replace("sagemaker.debugger", "sagemaker_debug_ext")


@pytest.fixture
def run(make_session, aws, script, tmp_path, capsys):
    """Run the text of a script; return the requests it sent, its output and its names."""
    (tmp_path / "my_rule.py").write_text("class CustomGradientRule: ...\n")

    def run(source):
        boto_session = aws.session()
        with recorded_requests(boto_session) as requests:
            names = {
                "role": ROLE,
                "session": make_session(boto_session=boto_session),
                "pipeline_session": make_session(PipelineSession, boto_session=boto_session),
            }
            exec(compile(source, "script.py", "exec"), names)
        return requests, capsys.readouterr().out, names

    return run


def comparable(request):
    """Leave out what the SDK makes at random: the folder of an upload and the name of its own rule."""
    members = normalised(request)
    for rule in [*members.get("DebugRuleConfigurations", []), *members.get("ProfilerRuleConfigurations", [])]:
        parameters = rule["RuleParameters"]
        if "source_s3_uri" in parameters:
            start, _, name = parameters["source_s3_uri"].rsplit("/", 2)
            parameters["source_s3_uri"] = f"{start}/…/{name}"
        rule["RuleConfigurationName"] = re.sub(r"(?<=JobConfig)-.*", "", rule["RuleConfigurationName"])
    return members


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_after_its_import_is_renamed(path, run):
    """With estimators that nobody has prepared for it."""
    source = path.read_text()
    new = renamed(source)
    assert "sagemaker_debug_ext" in new
    assert "sagemaker.debugger" not in new
    before, printed_before, _ = run(source)
    after, printed_after, names_after = run(new)
    assert [request["TrainingJobName"] for request in after] == [request["TrainingJobName"] for request in before]
    assert [comparable(request) for request in after] == [comparable(request) for request in before]
    assert printed_after == printed_before
    assert names_after.get("definition") is None or len(names_after["definition"]) > 100


def test_estimators_without_our_settings_stay_the_sdks(run):
    """They are not touched, also after this package is there."""
    run(renamed(SCRIPTS[0].read_text()))
    _, _, names = run((Path(__file__).parent / "scripts" / "03_builtin_rules.py").read_text())
    assert type(names["estimator"]).__mro__[1].__module__.startswith("sagemaker.")
