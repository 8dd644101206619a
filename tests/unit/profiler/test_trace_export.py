"""The profiler data of a job become one trace for Perfetto."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest

from sagemaker_debug_ext.cli.main import main
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.profiler.trace_export import Finding, write_trace
from support.profiler import unpack


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    return unpack(tmp_path_factory.mktemp("golden")) / "gpu_two_nodes" / "profiler-output"


def test_trace_when_written_then_holds_every_event_and_value_on_an_announced_track(output, tmp_path):
    """All data are there, in absolute time, and machines do not share processes."""
    finding = Finding("CPUBottleneck", "algo-1", 1700000070.0, 1700000095.5, {"cores": 2})
    counts = write_trace(output, tmp_path / "trace.json.gz", [finding])
    entries = json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))
    kinds = Counter(entry["ph"] for entry in entries)
    assert (kinds["X"], kinds["C"]) == (335, 1200) == (counts.spans + counts.findings, counts.counters)
    tracks = {(entry["pid"], entry["tid"]) for entry in entries if entry["name"] == "thread_name"}
    assert {(entry["pid"], entry["tid"]) for entry in entries if entry["ph"] == "X"} <= tracks
    processes = {entry["pid"]: entry["args"]["name"] for entry in entries if entry["name"] == "process_name"}
    assert {"algo-1-41", "algo-2-52", "algo-1 system metrics", "algo-2 system metrics"} <= set(processes.values())
    marked = [entry for entry in entries if entry.get("cat") == "finding"]
    assert [(entry["ts"], entry["dur"]) for entry in marked] == [(1700000070000000, 25_500_000)]
    assert min(entry["ts"] for entry in entries if entry["ph"] in "XC") > 1_699_999_000_000_000


def test_trace_when_steps_and_operators_overlap_then_spans_of_a_thread_nest(output, tmp_path):
    """Viewers draw spans of a thread only if they nest."""
    write_trace(output, tmp_path / "trace.json")
    threads: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for entry in json.loads((tmp_path / "trace.json").read_bytes()):
        if entry["ph"] == "X":
            threads.setdefault((entry["pid"], entry["tid"]), []).append((entry["ts"], entry["ts"] + entry["dur"]))
    for spans in threads.values():
        open_ends: list[float] = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1]
            open_ends.append(end)


def test_command_when_asked_for_a_trace_then_writes_it_and_says_what_it_holds(output, tmp_path, capsys):
    """One command gives the file."""
    assert main(["profile", "trace", str(output), str(tmp_path / "out.json.gz"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["spans"], answer["counters"], answer["findings"]) == (334, 1200, 0)


def test_trace_when_there_are_no_data_then_is_refused(tmp_path):
    """A wrong folder is named, and nothing is written."""
    with pytest.raises(SMDebugValueError, match="none' holds no profiler data"):
        write_trace(tmp_path / "none", tmp_path / "trace.json")
    assert list(tmp_path.iterdir()) == []


def test_trace_when_the_target_cannot_be_written_then_nothing_is_left(output, tmp_path):
    """A failure leaves no half-written file."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_trace(output, tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]
