"""Trace files as they are written, and what is left of them after a kill."""

from __future__ import annotations

import errno
import json
import os

import pytest

from sagemaker_debug_ext.profiler import LocalAlgorithmMetricsReader
from sagemaker_debug_ext.profiler.format.trace_remainder import load_remainder
from sagemaker_debug_ext.profiler.timeline.trace_writer import TraceFileSettings, TraceFileWriter, TraceSpan

BASE_US = 1_700_000_000_000_000


def span(at, phase="Step:ModeKeys.TRAIN", **facts):
    return TraceSpan(phase, phase, BASE_US + at, 1000, {"pid": 7, **facts})


def final_files(folder):
    return sorted(folder.rglob("*_pythontimeline.json"))


@pytest.fixture
def writer(tmp_path):
    return TraceFileWriter(str(tmp_path), "7-algo_1", BASE_US)


def test_file_when_closed_then_has_the_form_and_name_of_the_format(writer, tmp_path):
    """Base time first, phases numbered from 1 and announced once, times relative to the base."""
    writer.write([span(5, step_num="0"), span(2005, step_num="1"), span(3005, "Forward")])
    writer.close()
    (path,) = final_files(tmp_path)
    assert path.relative_to(tmp_path).as_posix() == (
        f"framework/pevents/2023111422/{BASE_US + 4005}_7-algo-1_pythontimeline.json"
    )
    lines = path.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("[", "]")
    entries = json.loads(path.read_text())
    assert entries[0]["args"] == {"start_time_since_epoch_in_micros": BASE_US}
    announced = [entry["args"]["name"] for entry in entries[2:] if entry["name"] == "process_name"]
    assert announced == ["Step:ModeKeys.TRAIN", "Forward"]
    steps = [entry for entry in entries if entry["ph"] == "X"]
    assert [entry["pid"] for entry in steps] == [1, 1, 2]
    assert steps[0] == {
        "name": "Step:ModeKeys.TRAIN",
        "pid": 1,
        "ph": "X",
        "ts": 5,
        "dur": 1000,
        "args": {"pid": 7, "step_num": "0"},
    }


def test_files_when_a_minute_is_over_then_are_closed_and_keep_the_numbers_of_phases(writer, tmp_path):
    """Every file can be read alone, and a phase has one number in all of them."""
    writer.write([span(0), span(10_000_000, "Forward"), span(70_000_000, "Forward"), span(71_000_000)])
    writer.close()
    files = final_files(tmp_path)
    assert len(files) == 2
    metadata = [[entry for entry in json.loads(path.read_text()) if "name" in entry.get("args", {})] for path in files]
    numbers = [{entry["args"]["name"]: entry["pid"] for entry in entries} for entries in metadata]
    assert numbers[0] == numbers[1] == {"Step:ModeKeys.TRAIN": 1, "Forward": 2}


def test_file_when_larger_than_allowed_then_is_closed(tmp_path):
    """A file never grows far beyond its limit."""
    writer = TraceFileWriter(str(tmp_path), "7-algo-1", BASE_US, settings=TraceFileSettings(max_bytes=500))
    for at in range(3):
        writer.write([span(at * 1000 + number) for number in range(10)])
    assert len(final_files(tmp_path)) == 3


def test_file_when_its_first_event_is_old_then_is_closed_without_another_one(writer, tmp_path):
    """The last steps before a long pause can be read during it."""
    writer.write([span(0)])
    writer.close_if_older(BASE_US + 30_000_000)
    assert not final_files(tmp_path)
    writer.close_if_older(BASE_US + 62_000_000)
    assert len(final_files(tmp_path)) == 1


def test_remainder_when_cut_anywhere_then_gives_its_whole_lines(writer, tmp_path):
    """A process may be killed at any byte."""
    writer.write([span(number * 10, step_num=str(number)) for number in range(3)])
    content = (tmp_path / "framework" / "7-algo-1_pythontimeline.json.tmp").read_bytes()
    writer.close()
    whole = load_remainder(content)
    ends = [place for place, byte in enumerate(content) if byte == ord("\n")]
    for length in range(len(content)):
        entries = load_remainder(content[:length])
        assert entries == whole[: len(entries)]
        assert len(entries) >= sum(end < length for end in ends) - 1


def test_remainder_when_another_process_has_the_same_rank_then_is_completed(writer, tmp_path):
    """A job that is started again keeps the steps before the kill."""
    writer.write([span(0, step_num="0")])
    path = tmp_path / "framework" / "7-algo-1_pythontimeline.json.tmp"
    remainder = path.read_bytes() + b',\n{"name": "Step'
    writer.close()
    for final in final_files(tmp_path):
        final.unlink()
    path.write_bytes(remainder)
    again = TraceFileWriter(str(tmp_path), "7-algo-1", BASE_US + 10_000_000)
    again.write([TraceSpan("Forward", "forward", BASE_US + 10_000_005, 5, {"pid": 8})])
    again.close()
    events = LocalAlgorithmMetricsReader(tmp_path).get_all_events()
    assert sorted((event.event_phase, event.start_time) for event in events) == [
        ("Forward", BASE_US + 10_000_005),
        ("Step:ModeKeys.TRAIN", BASE_US),
    ]


def test_events_when_the_folder_cannot_be_written_then_are_dropped_and_counted(tmp_path, caplog):
    """One warning, no error, and an end after so many failures."""
    (tmp_path / "framework").write_text("a file stands where the folder should be")
    writer = TraceFileWriter(str(tmp_path), "7-algo-1", BASE_US, settings=TraceFileSettings(max_failures=2))
    for number in range(4):
        writer.write([span(number)])
    assert writer.num_dropped == 4
    assert caplog.text.count("cannot be written") == 1


def test_events_when_the_disk_is_full_for_a_while_then_the_rest_is_whole(writer, tmp_path, monkeypatch):
    """What could not be written leaves no part of a line."""
    writer.write([span(0, step_num="0")])
    file = writer._file

    class Full:
        def __getattr__(self, name):
            return getattr(file, name)

        def write(self, content):
            file.write(bytes(content[: len(content) // 2]))
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    writer._file = Full()
    writer.write([span(10, step_num="1")])
    writer._file = file
    writer.write([span(20, step_num="2")])
    writer.close()
    events = LocalAlgorithmMetricsReader(tmp_path).get_all_events()
    assert [event.step for event in events] == [0, 2]
    assert writer.num_dropped == 1


def test_name_when_it_is_taken_then_another_one_is_chosen(tmp_path):
    """No file is ever replaced."""
    for _ in range(2):
        writer = TraceFileWriter(str(tmp_path), "7-algo-1", BASE_US)
        writer.write([span(0)])
        writer.close()
    assert len(final_files(tmp_path)) == 2
