"""The configuration file of the profiler, against the recorded answers of smdebug's parser."""

from __future__ import annotations

import json

import pytest

from sagemaker_debug_ext.profiler.timeline.detail.config_file import DetailSettings, parse_range, parse_settings
from sagemaker_debug_ext.profiler.timeline.detail.ranges import RangeProgress
from support.profiler import unpack

BETTER = {
    "disable_string_false": [2],  # the text "false" does not disable
    "start_zero_only": [0],  # step 0 is a step
    "sdk_duration_key": list(range(14)),  # the SDK's name of the duration
    "sdk_none_num": [0],  # parsed instead of evaluated
    "sdk_none_num_start_7": [7],
    "json_null": [0],
    "syntax_error": [],
    "python_doc_timer_cpu": [9],  # a timer of the guide
}
"""Case → the steps to profile where ours differ from the original's, and why."""

KEYS = {"DETAILED": "detailedprofilingconfig", "PYTHON": "pythonprofilingconfig"}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = unpack(tmp_path_factory.mktemp("golden"))
    return json.loads((folder / "profilerconfig" / "expected.json").read_text())["cases"]


def included(settings: DetailSettings, category, steps, now):
    limits = settings.detailed if category == "DETAILED" else settings.python and settings.python.limits
    if limits is None:
        return []
    progress = RangeProgress(limits)
    return [step for step in steps if progress.includes(step, 1e9 if now is None else now)]


def test_ranges_when_parsed_then_hold_the_steps_of_the_original(cases):
    """But for what the original gets wrong."""
    judged = 0
    for case in cases:
        if case["category"] not in KEYS or case["steps_asked"] == ["*"]:
            continue
        judged += 1
        settings = parse_settings(case["profilerconfig.json"])
        answers = case.get("answers", [False] * len(case["steps_asked"]))  # there are none where the original raises
        expected = [step for step, is_included in zip(case["steps_asked"], answers, strict=True) if is_included]
        got = included(settings, case["category"], case["steps_asked"], case["current_time"])
        assert got == BETTER.get(case["id"], expected), case["id"]
    assert judged >= 38


def test_settings_when_a_part_is_wrong_then_say_which_and_why(cases):
    """Where the original has a message, there is one."""
    for case in cases:
        if case["category"] in KEYS and case.get("error_message") and case["id"] not in BETTER:
            assert parse_settings(case["profilerconfig.json"]).problems, case["id"]


def test_files_when_their_limits_are_texts_then_are_numbers():
    """All values of the file are texts."""
    parameters = {"RotateMaxFileSizeInBytes": "300.7", "RotateFileCloseIntervalInSeconds": "0.5"}
    settings = parse_settings(json.dumps({"ProfilingParameters": {**parameters, "FileOpenFailThreshold": "2"}}))
    assert (settings.files.max_bytes, settings.files.close_seconds, settings.files.max_failures) == (300, 0.5, 2)


def test_range_when_its_text_is_a_program_then_is_not_run(tmp_path):
    """The file may come from anywhere."""
    victim = tmp_path / "victim"
    with pytest.raises(ValueError, match="must be a dictionary"):
        parse_range(f"{{'StartStep': open({str(victim)!r}, 'w')}}")
    assert not victim.exists()


def test_profile_of_python_when_another_profiler_is_asked_for_then_is_by_cprofile_and_says_so():
    """Functions are profiled all the same."""
    text = json.dumps(
        {"ProfilingParameters": {"PythonProfilingConfig": '{"StartStep": 3, "ProfilerName": "pyinstrument"}'}}
    )
    settings = parse_settings(text)
    assert settings.python is not None
    assert "cProfile instead of pyinstrument" in settings.problems[0]
