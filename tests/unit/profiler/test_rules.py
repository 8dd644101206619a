"""The profiler rules decide as the original's do, on data whose bottlenecks are known by construction."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from sagemaker_debug_ext.catalog import get_rule_spec
from sagemaker_debug_ext.cli.main import main
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.profiler.format.file_names import system_file_key
from sagemaker_debug_ext.profiler.format.system_rows import SystemRow
from sagemaker_debug_ext.profiler.rules import (
    ProfileEvaluation,
    Verdict,
    create_profiler_rule,
    create_report_rules,
    evaluate_profile,
)
from sagemaker_debug_ext.profiler.rules.registry import SAGEMAKER_RULES
from sagemaker_debug_ext.profiler.timeline.trace_writer import TraceFileWriter, TraceSpan
from support.profiler import ARCHIVE, format_rows, unpack

SCHEMAS = json.loads((ARCHIVE.parent / "report_schemas.json").read_text(encoding="utf-8"))
SHORT = {
    "BatchSize": {"patience": 1, "window": 5},
    "CPUBottleneck": {"threshold": 19, "patience": 1},
    "GPUMemoryIncrease": {"patience": 1, "window": 2},
    "IOBottleneck": {"threshold": 9, "patience": 1},
    "LoadBalancing": {"patience": 1},
    "LowGPUUtilization": {"patience": 1, "window": 30},
    "StepOutlier": {"n_outliers": 1},
}
"""Parameters for jobs of two minutes at an interval of five seconds."""

GPU_RULES = ["BatchSize", "CPUBottleneck", "GPUMemoryIncrease", "IOBottleneck", "LoadBalancing", "LowGPUUtilization"]


@pytest.fixture(scope="module")
def golden(tmp_path_factory) -> Path:
    return unpack(tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="module")
def two_nodes(golden) -> Path:
    return golden / "gpu_two_nodes" / "profiler-output"


def evaluate(path, name, **parameters):
    (rule,) = evaluate_profile(path, [create_profiler_rule(name, parameters)])
    return rule


@pytest.mark.parametrize(("threshold", "fires"), [(19, True), (20, False), (50, False)])
def test_cpu_bottleneck_when_a_fifth_of_all_snapshots_is_one_then_fires_below_that(two_nodes, threshold, fires):
    """Six of thirty ticks per node are bottlenecks; the share has to be above the threshold in a slice that fires."""
    rule = evaluate(two_nodes, "CPUBottleneck", threshold=threshold, patience=59)
    assert (rule.datapoints, rule.violations, rule.triggered > 0) == (60, 12, fires)
    details = rule.details()
    assert details["low_gpu_utilization"] == 36
    times = sorted(float(time) - 1700000010 for time in details["bottlenecks"])
    assert np.round(times).tolist() == sorted([60, 65, 70, 75, 80, 85] * 2)


def test_io_bottleneck_when_three_ticks_per_node_wait_for_a_disk_then_names_them(two_nodes):
    """The share after the first step is reported beside the original's share."""
    rule = evaluate(two_nodes, "IOBottleneck", threshold=9, patience=1)
    assert (rule.violations, rule.triggered) == (6, 1)
    (finding,) = rule.findings
    assert finding.numbers["share"] == pytest.approx(10)
    assert finding.numbers["share_after_first_step"] > 10
    assert 1700000100 <= finding.start <= finding.end <= 1700000111


def test_low_gpu_utilization_when_evaluated_over_all_points_then_tells_fluctuating_from_underused(two_nodes):
    """Percentiles are those of all thirty points; one of eight GPUs is underused."""
    rule = evaluate(two_nodes, "LowGPUUtilization", patience=29, window=30)
    found = {(finding.node, finding.device): finding for finding in rule.findings}
    assert len(found) == 8
    assert [key for key, finding in found.items() if "underused" in finding.message] == [("algo-2", "gpu3")]
    p95 = {key: finding.numbers["p95"] for key, finding in found.items()}
    assert p95["algo-1", "gpu0"] == pytest.approx(95.55)
    assert p95["algo-2", "gpu3"] == pytest.approx(43.55)
    assert {finding.numbers["p5"] for finding in found.values()} == {0.0}
    details = rule.details()
    assert details["algo-2"]["gpu3"]["p95"] == pytest.approx(43.55)


def test_gpu_memory_increase_when_memory_rises_twice_then_reports_two_episodes_per_gpu(two_nodes):
    """The largest rise is that at the start of training, and the points of one rise are one finding."""
    rule = evaluate(two_nodes, "GPUMemoryIncrease", patience=1, window=2)
    episodes = [finding for finding in rule.findings if (finding.node, finding.device) == ("algo-1", "gpu0")]
    assert [round(finding.start - 1700000010) for finding in episodes] == [15, 90]
    assert rule.details()["algo-1"]["gpu0"]["increase"] == pytest.approx(45, abs=2)


def test_load_balancing_when_one_gpu_has_half_the_work_then_every_pair_with_it_is_unequal(two_nodes):
    """The pairs above the limit are those of the one GPU, on its own machine and across machines."""
    rule = evaluate(two_nodes, "LoadBalancing", threshold=0.6, patience=1)
    assert rule.triggered > 0
    details = rule.details()
    pairs = {
        frozenset(((node, one), tuple(other.split("/")) if "/" in other else (node, other)))
        for node, facts in details.items()
        for one, others in facts.get("distances", {}).items()
        for other in others
    }
    assert len(pairs) == 7
    assert all(("algo-2", "gpu3") in pair for pair in pairs)


def test_step_outlier_when_there_are_too_few_steps_then_is_not_evaluated(two_nodes):
    """Twenty-five steps are below the original's hundred; the outlier is in the evidence all the same."""
    rule = evaluate(two_nodes, "StepOutlier")
    assert rule.verdict is Verdict.NOT_EVALUATED
    assert rule.not_evaluated() == "25 of 100 steps"
    steps = rule.details()["step_details"]
    assert set(steps) == {f"{worker}/{mode}" for worker in ("algo-1-41", "algo-2-52") for mode in ("TRAIN", "EVAL")}
    assert steps["algo-1-41/TRAIN"]["step_numbers"] == ["17"]


@pytest.mark.parametrize("case", ["gpu_two_nodes", "measured_host"])
@pytest.mark.parametrize("parameters", [{}, SHORT], ids=["defaults", "fires"])
def test_report_when_written_then_fits_the_schemas(golden, case, parameters, tmp_path):
    """All eleven files have the original's keys, in its order."""
    given = {f"{rule}_{name}": value for rule, values in parameters.items() for name, value in values.items()}
    words = [word for name, value in given.items() for word in ("--parameter", f"{name}={value}")]
    status = main(["profile", "report", str(golden / case / "profiler-output"), str(tmp_path / "out"), *words])
    files = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "out" / "profiler-reports").iterdir()}
    assert set(files) == set(SCHEMAS["rules"])
    for name, content in files.items():
        assert list(content) == SCHEMAS["report_key_order"]
        jsonschema.validate(content, SCHEMAS["report_file"])
        if content["Details"]:
            jsonschema.validate(content["Details"], SCHEMAS["rules"][name]["details"])
        order = [line.partition(":")[0] for line in content["RuleParameters"].split("\n") if line]
        assert order == SCHEMAS["rules"][name]["order"]
    assert status == int(any(content["RuleTriggered"] for content in files.values()))


def test_report_parameters_when_defaults_then_are_those_of_released_reports():
    """Defaults within the report are the service's, which differ from the guide's."""
    for rule in create_report_rules():
        released = SCHEMAS["rules"][rule.name]["released"]
        assert {name: rule.parameters[name] for name in released} == released


@pytest.mark.parametrize("name", sorted(SAGEMAKER_RULES))
def test_rule_when_made_alone_then_has_the_catalogs_defaults(name):
    """A rule by itself has the defaults that a request documents."""
    rule = create_profiler_rule(name)
    for parameter in get_rule_spec(name).parameters:
        assert rule.parameters[parameter.name] == parameter.default


@pytest.mark.parametrize("name", sorted({*GPU_RULES, "StepOutlier"}))
def test_rule_when_data_are_too_short_then_is_not_evaluated(two_nodes, name):
    """Too little data are no sound verdict, and the reason says how much is there and needed."""
    rule = evaluate(two_nodes, name)
    assert rule.verdict is Verdict.NOT_EVALUATED
    assert " of " in rule.not_evaluated()


@pytest.mark.parametrize("name", GPU_RULES)
def test_rule_when_there_is_no_gpu_then_is_not_evaluated(golden, name):
    """Rules on GPUs say that there is none, whatever the patience."""
    rule = evaluate(golden / "measured_host" / "profiler-output", name, patience=1)
    assert (rule.verdict, rule.not_evaluated()) == (Verdict.NOT_EVALUATED, "no GPU")


def test_patience_when_given_in_seconds_then_wins_over_points(two_nodes):
    """A length of time does not depend on the interval."""
    assert evaluate(two_nodes, "CPUBottleneck", threshold=19, patience=10_000, patience_seconds=30).triggered > 0
    assert evaluate(two_nodes, "CPUBottleneck", threshold=19, patience=1, patience_seconds=600).triggered == 0


@pytest.mark.parametrize(
    ("name", "parameters", "part"),
    [
        ("CPUBottlenek", {}, "did you mean 'CPUBottleneck'"),
        ("CPUBottleneck", {"threshold": 101}, "threshold"),
        ("CPUBottleneck", {"no_such": 1}, "no_such"),
        ("CPUBottleneck", {"patience_seconds": "soon"}, "patience_seconds must be a number of at least 0"),
    ],
)
def test_rule_when_a_parameter_is_wrong_then_it_is_named(name, parameters, part):
    """Wrong rules and parameters are refused before any data are read."""
    with pytest.raises(SMDebugValueError, match=part):
        create_profiler_rule(name, parameters)


def write_minutes(folder: Path, start: int, minutes: dict[int, list[SystemRow]]) -> None:
    for minute, rows in minutes.items():
        path = folder / system_file_key(start + 60 * minute, "algo-1")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(format_rows(rows))


def busy_job(num_minutes: int, start: int = 1_700_000_040) -> dict[int, list[SystemRow]]:
    """Return a job whose one GPU waits for its one core in every second tick."""
    minutes: dict[int, list[SystemRow]] = {minute: [] for minute in range(num_minutes)}
    for second in range(60 * num_minutes):
        is_bottleneck = second % 2
        for kind, name, dimension, value in (
            ("cpu", "cpu0", "CPUUtilization", 99.0 if is_bottleneck else 30.0),
            ("gpu", "gpu0", "GPUUtilization", 1.0 if is_bottleneck else 90.0),
        ):
            timestamp = start + second + (0.004 if kind == "gpu" else 0.0)
            minutes[second // 60].append(SystemRow(kind, name, dimension, value, "algo-1", timestamp))
    return minutes


def test_evaluation_when_data_arrive_minute_by_minute_then_ends_as_if_they_had_all_been_there(tmp_path):
    """Live and afterwards give the same counts, and a full slice is evaluated before the job ends."""
    start, minutes = 1_700_000_040, busy_job(6)
    rule = create_profiler_rule("CPUBottleneck", {"threshold": 40, "patience": 100})
    write_minutes(tmp_path / "live", start, {0: minutes[0]})
    live = ProfileEvaluation(tmp_path / "live", [rule])
    evaluated = []
    for minute in range(1, 6):
        live.advance(has_ended=False)
        evaluated.append(rule.datapoints)
        write_minutes(tmp_path / "live", start, {minute: minutes[minute]})
    assert evaluated == [0, 60, 120, 180, 240]
    assert rule.triggered > 0
    (tmp_path / "live" / "system" / "training_job_end.ts").touch()
    assert live.has_ended()
    live.follow()
    shutil.copytree(tmp_path / "live", tmp_path / "after")
    after = evaluate(tmp_path / "after", "CPUBottleneck", threshold=40, patience=100)
    assert rule.report() == after.report()


def test_preview_when_the_condition_is_met_within_a_slice_then_finds_it_and_changes_no_count(tmp_path):
    """A running job has a verdict as soon as its data are there; the counts stay those of full slices."""
    start, minutes = 1_700_000_040, busy_job(1)
    rule = create_profiler_rule("CPUBottleneck", {"threshold": 40, "patience": 30})
    live = ProfileEvaluation(tmp_path, [rule])
    assert live.preview() == [rule]
    for num_rows, triggered in ((40, 0), (80, 1)):
        write_minutes(tmp_path, start, {0: minutes[0][:num_rows]})
        assert not live.advance(has_ended=False)
        (seen,) = live.preview()
        assert (seen.datapoints, seen.triggered) == (num_rows // 2, triggered)
    assert (rule.datapoints, rule.triggered, rule.findings) == (0, 0, [])
    live.advance()
    assert rule.report() == evaluate(tmp_path, "CPUBottleneck", threshold=40, patience=30).report()


def test_evaluation_when_events_are_in_an_open_file_then_sees_each_once(tmp_path):
    """Steps of a running or killed process count at once, and not again when their file is complete."""
    start_us = 1_700_000_040_000_000
    writer = TraceFileWriter(str(tmp_path), "7-algo-1", start_us, "pythontimeline.json")
    writer.write([TraceSpan("Step:ModeKeys.TRAIN", "s", start_us + 1000 * step, 500, {"pid": 7}) for step in range(30)])
    rule = create_profiler_rule("StepOutlier")
    live = ProfileEvaluation(tmp_path, [rule])
    live.advance(has_ended=False)
    assert live.preview()[0].datapoints == 30
    live._open_events = live._framework.get_open_events()
    writer.close()  # between reading the open file and looking for complete ones
    assert live.preview()[0].datapoints == 30
    live.advance()
    assert rule.datapoints == 30


def test_evaluation_when_a_process_was_killed_then_its_open_file_counts(tmp_path):
    """The line that was being written is lost, and nothing else."""
    start_us = 1_700_000_040_000_000
    writer = TraceFileWriter(str(tmp_path / "whole"), "7-algo-1", start_us, "pythontimeline.json")
    writer.write([TraceSpan("Step:ModeKeys.TRAIN", "s", start_us + 1000 * step, 500, {"pid": 7}) for step in range(30)])
    path = Path(writer.open_path)
    left_behind = tmp_path / "killed" / "framework" / path.name
    left_behind.parent.mkdir(parents=True)
    left_behind.write_bytes(path.read_bytes()[:-5])
    writer.close()
    rule = evaluate(tmp_path / "killed", "StepOutlier")
    assert rule.datapoints == 29


def test_command_when_it_follows_then_prints_findings_while_the_job_runs(tmp_path):
    """Each finding is printed once as it comes, and the summary when the job has ended."""
    write_minutes(tmp_path, 1_700_000_040, busy_job(1))
    words = ["--rule", "CPUBottleneck", "--parameter", "CPUBottleneck_patience=10"]
    words += ["--parameter", "CPUBottleneck_threshold=40", "--follow"]
    command = [sys.executable, "-m", "sagemaker_debug_ext.cli.main", "profile", "show", str(tmp_path), *words]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=buffered) as process:
        finding = process.stdout.readline()
        (tmp_path / "system" / "training_job_end.ts").touch()
        summary = process.stdout.read()
    assert finding.startswith("CPUBottleneck: ")
    assert "UTC  GPUs waited for the CPU" in finding
    assert summary.startswith("CPUBottleneck: IssuesFound")
    assert process.returncode == 1


def test_evaluation_when_the_data_are_damaged_then_goes_on_and_says_so(golden):
    """Odd and broken files cost what is in them, and are described."""
    path = golden / "edge_cases" / "profiler-output"
    evaluation = ProfileEvaluation(path, create_report_rules())
    assert evaluation.advance()
    assert evaluation.problems
    assert not evaluation.advance()


def test_command_when_a_bottleneck_is_found_then_says_what_is_slow_and_what_to_change(tmp_path, capsys):
    """The finding has its time and numbers, and advice follows."""
    write_minutes(tmp_path, 1_700_000_040, busy_job(3))
    words = ["--rule", "CPUBottleneck", "--parameter", "CPUBottleneck_patience=100", "--parameter"]
    assert main(["profile", "show", str(tmp_path), *words, "CPUBottleneck_threshold=40"]) == 1
    printed = capsys.readouterr().out
    assert "CPUBottleneck: IssuesFound" in printed
    assert "GPUs waited for the CPU in 50 % of 180 snapshots" in printed
    assert "data loader workers" in printed


@pytest.mark.parametrize("folder", ["", "missing"])
@pytest.mark.parametrize(
    "words", [["show", "{}"], ["show", "{}", "--json"], ["report", "{}", "out"], ["trace", "{}", "out"]]
)
def test_command_when_there_are_no_data_then_is_refused(tmp_path, monkeypatch, capsys, words, folder):
    """A wrong folder is no sound job, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    path = str(tmp_path / folder)
    assert main(["profile", *(word.format(path) for word in words)]) == 2
    assert f"{path!r} holds no profiler data; name the folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_evaluation_when_the_clock_jumps_by_years_then_skips_the_gap(tmp_path):
    """Slices without data cost nothing, however many there are."""
    early, late = busy_job(2), busy_job(2, 1_800_000_000)
    write_minutes(tmp_path, 1_700_000_040, early)
    write_minutes(tmp_path, 1_800_000_000, late)
    rule = evaluate(tmp_path, "CPUBottleneck", patience=10)
    assert rule.datapoints == 240


def test_evaluation_when_a_job_is_long_then_keeps_only_the_latest_minutes(tmp_path):
    """Memory does not grow with the job."""
    write_minutes(tmp_path, 1_700_000_040, busy_job(40))
    evaluation = ProfileEvaluation(tmp_path, [create_profiler_rule("CPUBottleneck", {"patience": 10})])
    evaluation.advance()
    assert evaluation.rules[0].datapoints == 2400
    assert len(evaluation._system._parsed) < 15
