"""The readers answer as the original's do on recorded data, but for its faults."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

from sagemaker_debug_ext import profiler
from sagemaker_debug_ext.profiler import python_profile_utils, utils
from sagemaker_debug_ext.profiler.analysis import python_profile_analysis
from sagemaker_debug_ext.profiler.analysis.utils import (
    merge_timelines,
    pandas_data_analysis,
    profiler_data_to_pandas,
    pytorch_dataloader_analysis,
)
from support.profiler import ARCHIVE, differences, recorded, unpack

CASES = ("measured_host", "gpu_two_nodes", "edge_cases")
STEPS = ["Step:ModeKeys.TRAIN", "Step:ModeKeys.EVAL"]

IMPROVED = {
    "measured_host": {
        "an_all_metrics": "events outside of all steps keep -1 instead of raising IndexError",
        "an_device_usage": "only utilization is counted, not I/O wait",
        "an_device_usage_cpu": "only utilization is counted, not I/O wait",
        "an_job_statistics": "initialization begins with the first sample",
        "an_utilization_gpu": "a missing resource gives an empty table instead of ValueError",
        "fw_current_range": "the range of file names instead of TypeError",
        "merge_all": "counters do not need a little used GPU",
        "merge_no_system": "no system metrics instead of UnboundLocalError",
        "merge_steps": "counters do not need a little used GPU",
        "pf_by_step": "system metrics are of the times of each mode",
        "py_function_stats_type": "one column for each fact",
        "py_job_phase": "the time after the hook's end is the finalization",
    },
    "gpu_two_nodes": {
        "an_all_metrics": "events outside of all steps keep -1 instead of raising IndexError",
        "an_device_usage": "only utilization is counted, not I/O wait and memory",
        "an_device_usage_cpu": "only utilization is counted, not I/O wait",
        "an_job_statistics": "initialization begins with the first sample",
        "an_phase_intervals": "intervals of several workers do not run backwards",
        "an_phase_intervals_train": "steps of several workers are one interval",
        "fw_current_range": "the range of file names instead of TypeError",
        "fw_events_list": "a Horovod event says which kind of file it is from",
        "fw_files": "statistics of Pyinstrument are no trace files",
        "fw_first_file": "statistics of Pyinstrument are no trace files",
        "merge_all": "a thread is announced once",
        "merge_no_system": "no system metrics instead of UnboundLocalError",
        "pf_by_step": "system metrics are of the times of each mode",
        "pf_by_timesteps": "no time is skipped",
        "py_function_stats_type": "one column for each fact",
    },
    "edge_cases": {
        "an_job_statistics": "initialization begins with the first sample",
        "fw_current_range": "the range of file names instead of TypeError",
        "merge_all": "counters do not need a little used GPU",
        "merge_no_system": "no system metrics instead of UnboundLocalError",
        "merge_steps": "counters do not need a little used GPU",
        "pf_system": "the index has no gaps",
        "pf_system_cpu0": "the index has no gaps",
        "variant_bad_trace_name_fw": "a file with another name is ignored",
        "variant_bad_trace_name_pf": "a file with another name is ignored",
        "variant_broken_middle_line_sys": "a damaged line is skipped and described",
        "variant_broken_middle_line_pf": "a damaged line is skipped and described",
    },
}
"""Case → answer that differs from the recorded one → why."""


@pytest.fixture(scope="module")
def golden(tmp_path_factory) -> Path:
    return unpack(tmp_path_factory.mktemp("golden"))


def names_of(reader: Any) -> list[str]:
    return list(reader.event_files())


def entries_of(path: str) -> list[dict[str, Any]]:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def summary_of(path: str) -> dict[str, Any]:
    """Return what is recorded of a merged file."""
    entries = entries_of(path)
    processes = {(entry["pid"], entry["args"]["name"]) for entry in entries if entry["name"] == "process_name"}
    return {
        "name_pattern": re.sub(r"_\d+-[^_]*_", "_<pid-host>_", os.path.basename(path)),
        "events": len(entries),
        "by_ph": dict(Counter(entry["ph"] for entry in entries)),
        "processes": sorted(processes),
        "counters": sorted({entry["name"] for entry in entries if entry["ph"] == "C"}),
        "first_instant": next((entry for entry in entries if entry["ph"] == "i"), None),
    }


def namespace(root: Path, case: str, variant: str, tmp_path: Path) -> dict[str, Any]:
    """Return the names that recorded expressions use."""
    output = str(root / case / "profiler-output")
    names: dict[str, Any] = {name: getattr(profiler, name) for name in profiler.__all__}
    for module in (
        utils,
        python_profile_utils,
        python_profile_analysis,
        merge_timelines,
        pandas_data_analysis,
        profiler_data_to_pandas,
        pytorch_dataloader_analysis,
    ):
        names |= {name: value for name, value in vars(module).items() if not name.startswith("_")}

    def analysis(all_: bool = False) -> Any:
        frame = names["PandasFrame"](output)
        chosen = frame.get_all_framework_metrics(() if all_ else STEPS)
        return names["PandasFrameAnalysis"](frame.get_all_system_metrics(), chosen)

    def merged(*arguments: Any, **options: Any) -> dict[str, Any]:
        timeline = names["MergedTimeline"](output, output_directory=tmp_path)
        return summary_of(timeline.merge_timeline(*arguments, **options))

    return names | {
        "PO": output,
        "V": str(root / case / "variants" / variant / "profiler-output"),
        "D": f"{output}/framework/pytorch/cprofile",
        "an": analysis,
        "merged": merged,
        "files": names_of,
    }


def calls() -> list[Any]:
    import tarfile

    found = []
    with tarfile.open(ARCHIVE) as archive:
        for case in CASES:
            content = archive.extractfile(f"profiler/{case}/expected.json")
            assert content is not None
            found += [pytest.param(case, call, id=f"{case}-{call['id']}") for call in json.load(content)["calls"]]
    return found


def relocate(answer: Any, folder: str) -> Any:
    """Return an answer with paths relative to the case."""
    return json.loads(json.dumps(answer).replace(f"{folder}{os.sep}", ""))


@pytest.mark.parametrize(("case", "call"), calls())
def test_answer_when_compared_then_equals_the_recorded_one_unless_it_is_improved(case, call, golden, tmp_path):
    """Same values, same columns, same order, same refusals."""
    variant = call["id"].removeprefix("variant_").rpartition("_")[0]
    names = namespace(golden, case, variant, tmp_path)
    expression = call["expr"].replace("._get_time_interval_for_step", ".get_time_interval_for_step")
    improved = call["id"] in IMPROVED[case]
    if "raises" in call and not improved:
        with pytest.raises(Exception) as refused:
            eval(expression, names)
        assert call["raises"] in {base.__name__ for base in type(refused.value).__mro__}
        return
    ours = relocate(recorded(eval(expression, names)), str(golden / case))
    assert bool(differences(ours, call.get("result", {"raises": call.get("raises")}))) == improved


def test_job_statistics_when_sampling_began_within_a_minute_then_initialization_begins_with_the_first_sample(golden):
    """The parts of a job add up to its duration."""
    frame = profiler_data_to_pandas.PandasFrame(golden / "gpu_two_nodes" / "profiler-output")
    analysis = pandas_data_analysis.PandasFrameAnalysis(
        frame.get_all_system_metrics(), frame.get_all_framework_metrics()
    )
    statistics = analysis.get_job_statistics()
    parts = statistics["initialization"] + statistics["training_loop_duration"][0] + statistics["finalization"]
    assert statistics["initialization"] == 30_124_300
    assert parts == statistics["job_duration"]
    assert "initialization_%" in repr(statistics)


def test_analysis_when_events_lie_outside_of_all_steps_then_keeps_the_tables_of_the_caller(golden):
    """The caller's tables stay as they are, and only enclosed events get a step."""
    frame = profiler_data_to_pandas.PandasFrame(golden / "gpu_two_nodes" / "profiler-output")
    framework = frame.get_all_framework_metrics()
    before = framework.copy()
    analysis = pandas_data_analysis.PandasFrameAnalysis(frame.get_all_system_metrics(), framework)
    assert framework.equals(before)
    assert (analysis.framework_metrics_df["step"] == -1).sum() < (before["step"] == -1).sum()
    assert analysis.framework_metrics_df["step"].min() == -1


def test_phase_intervals_when_two_workers_overlap_then_run_forwards(golden):
    """Intervals follow each other without a gap or an overlap."""
    frame = profiler_data_to_pandas.PandasFrame(golden / "gpu_two_nodes" / "profiler-output")
    analysis = pandas_data_analysis.PandasFrameAnalysis(
        frame.get_all_system_metrics(), frame.get_all_framework_metrics(STEPS)
    )
    intervals = analysis.get_training_phase_intervals()
    starts, ends = list(intervals["start_time_us"]), list(intervals["end_time_us"])
    assert all(start <= end for start, end in zip(starts, ends, strict=True))
    assert starts[1:] == [end + 1 for end in ends[:-1]]


def test_device_usage_when_io_wait_is_recorded_then_only_utilization_is_counted(golden):
    """Thirty ticks of two cores give sixty values per node."""
    frame = profiler_data_to_pandas.PandasFrame(golden / "gpu_two_nodes" / "profiler-output")
    analysis = pandas_data_analysis.PandasFrameAnalysis(
        frame.get_all_system_metrics(), frame.get_all_framework_metrics(STEPS)
    )
    usage = analysis.get_device_usage_stats()
    counts = {(row[0], row[1]): sum(row[2:]) for row in usage.itertuples(index=False, name=None)}
    assert counts == {("cpu", "algo-1"): 60, ("cpu", "algo-2"): 60, ("gpu", "algo-1"): 120, ("gpu", "algo-2"): 120}


def test_by_step_when_two_modes_count_the_same_steps_then_the_time_between_is_left_out(golden):
    """System metrics lie within the steps of one of the modes."""
    frame = profiler_data_to_pandas.PandasFrame(golden / "gpu_two_nodes" / "profiler-output")
    system, framework = frame.get_profiler_data_by_step(1, 2)
    steps = framework[framework["process"].isin(STEPS)]
    spans = steps.groupby("process").agg({"start_time_us": "min", "end_time_us": "max"})
    assert set(spans.index) == set(STEPS)
    inside = [
        any(span.start_time_us <= time <= span.end_time_us for span in spans.itertuples())
        for time in system["timestamp_us"]
    ]
    assert len(inside) == 80
    assert all(inside)


def test_by_timesteps_when_two_times_lie_in_events_then_none_is_skipped(golden):
    """Each time counts every event around it."""
    frame = profiler_data_to_pandas.PandasFrame(golden / "gpu_two_nodes" / "profiler-output")
    times = ["2023-11-14T22:14:10:000000", "2023-11-14T22:14:40:000000"]
    together = frame.get_framework_metrics_by_timesteps(times)[2]
    first, second = (frame.get_framework_metrics_by_timesteps([time])[2] for time in times)
    assert together == {key: first.get(key, 0) + second.get(key, 0) for key in {*first, *second}}


def test_merged_timeline_when_there_is_no_gpu_then_has_a_counter_for_every_value(golden, tmp_path):
    """A job without GPUs has counters, and every event's track is announced before it."""
    timeline = merge_timelines.MergedTimeline(golden / "measured_host" / "profiler-output", output_directory=tmp_path)
    entries = entries_of(timeline.merge_timeline(0, 1795383602648347))
    counts = Counter(entry["ph"] for entry in entries)
    assert (counts["X"], counts["C"]) == (241, 816)
    announced: set[int] = set()
    for entry in entries:
        if entry["name"] == "process_name":
            announced.add(entry["pid"])
        assert entry["pid"] in announced


def test_merged_timeline_when_the_range_is_empty_then_is_an_empty_array(golden, tmp_path):
    """A range without events gives a file that opens."""
    timeline = merge_timelines.MergedTimeline(golden / "measured_host" / "profiler-output", output_directory=tmp_path)
    assert entries_of(timeline.merge_timeline(100000, 100001, "step")) == []


def test_reader_when_a_line_is_damaged_then_reads_the_others_and_says_so(golden):
    """One damaged line costs one line, and is described once."""
    reader = profiler.LocalSystemMetricsReader(
        golden / "edge_cases" / "variants" / "broken_middle_line" / "profiler-output"
    )
    assert [event.value for event in reader.get_events(0, 4_000_000_000_000_000)] == [1.0, 2.0]
    reader.get_events(0, 4_000_000_000_000_000)
    assert len(reader.problems) == 1
    assert "line 2" in reader.problems[0]


def test_python_profiles_when_the_hook_was_closed_then_the_rest_is_the_finalization(golden):
    """The three parts of a job hold what their spans hold."""
    folder = golden / "measured_host" / "profiler-output" / "framework" / "pytorch" / "cprofile"
    phases = python_profile_analysis.cProfileAnalysis(folder).fetch_profile_stats_by_job_phase()
    assert set(phases) == {"initialization", "training_loop", "finalization"}
    assert len(phases["initialization"].function_stats_list) == 130
    assert len(phases["finalization"].function_stats_list) == 7
    table = phases["training_loop"].get_function_stats()
    assert list(table["total_time"]) == sorted(table["total_time"], reverse=True)
