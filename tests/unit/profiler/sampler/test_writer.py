"""Rows lie in the file of their minute, in whole lines at every moment."""

from __future__ import annotations

import os
import resource

import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.profiler import LocalSystemMetricsReader
from sagemaker_debug_ext.profiler.format.system_rows import SystemRow
from sagemaker_debug_ext.profiler.sampler import SamplerSettings
from sagemaker_debug_ext.profiler.sampler.writer import PUBLISH_SECONDS, SystemFileWriter

MINUTE = 1_700_000_040


def row(second: float, value: float = 1.0) -> SystemRow:
    return SystemRow("cpu", "cpu0", "CPUUtilization", value, "algo-1", MINUTE + second)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def timestamps(folder) -> list[float]:
    return [event.timestamp - MINUTE for event in LocalSystemMetricsReader(folder).get_events(0, 1 << 60)]


def names(folder) -> list[str]:
    return sorted(name for _, _, files in os.walk(folder) for name in files)


def test_rows_when_the_minute_changes_then_each_lies_in_its_own_file(tmp_path):
    """The first file carries the minute in which sampling began, even if its first row is later."""
    writer = SystemFileWriter(str(tmp_path), "algo-1", Clock())
    writer.start(MINUTE - 10)
    writer.write([row(0.5), row(59.9), row(60.1)])
    writer.end()
    assert names(tmp_path) == [
        "1699999980.algo-1.json",
        "1700000040.algo-1.json",
        "1700000100.algo-1.json",
        "training_job_end.ts",
    ]
    assert timestamps(tmp_path) == pytest.approx([0.5, 59.9, 60.1])


def test_rows_when_a_reader_follows_then_are_at_most_seconds_old(tmp_path):
    """Rows are appended to the running minute, under its final name."""
    clock = Clock()
    writer = SystemFileWriter(str(tmp_path), "algo-1", clock)
    writer.start(MINUTE)
    writer.write([row(1)])
    assert timestamps(tmp_path) == []
    clock.now += PUBLISH_SECONDS
    writer.write([row(2)])
    assert timestamps(tmp_path) == pytest.approx([1, 2])
    assert names(tmp_path) == ["1700000040.algo-1.json"]


def test_rows_when_an_earlier_sampler_was_killed_then_its_rows_stay(tmp_path):
    """A new sampler goes on in the file of the same minute, and takes back the mark of the end."""
    first = SystemFileWriter(str(tmp_path), "algo-1", Clock())
    first.start(MINUTE)
    first.write([row(1)])
    first.end()
    second = SystemFileWriter(str(tmp_path), "algo-1", Clock())
    second.start(MINUTE + 5)
    second.write([row(6)])
    second.flush()
    assert timestamps(tmp_path) == pytest.approx([1, 6])
    assert "training_job_end.ts" not in names(tmp_path)


def test_rows_when_an_earlier_sampler_was_killed_in_a_line_then_only_that_line_is_lost(tmp_path):
    """The other lines of the minute can be read by readers that refuse a broken line."""
    first = SystemFileWriter(str(tmp_path), "algo-1", Clock())
    first.start(MINUTE)
    first.write([row(1), row(2)])
    first.flush()
    (path,) = tmp_path.rglob("*.algo-1.json")
    os.truncate(path, path.stat().st_size - 5)
    second = SystemFileWriter(str(tmp_path), "algo-1", Clock())
    second.start(MINUTE + 5)
    second.write([row(6)])
    second.flush()
    assert timestamps(tmp_path) == pytest.approx([1, 6])
    assert len(path.read_bytes().splitlines()) == 2


def test_rows_when_the_disk_is_full_then_no_line_is_cut(tmp_path):
    """What was written of some lines before the error is taken back, and all of them are written later."""
    writer = SystemFileWriter(str(tmp_path), "algo-1", Clock())
    writer.start(MINUTE)
    writer.write([row(1)])
    writer.flush()
    (path,) = tmp_path.rglob("*.algo-1.json")
    whole = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 10, limits[1]))
        writer.write([row(2)])
        writer.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == whole
    writer.end()
    assert timestamps(tmp_path) == pytest.approx([1, 2])


def test_rows_when_nothing_can_be_written_then_the_newest_are_kept_and_the_rest_is_counted(tmp_path, caplog):
    """A full disk costs rows, is logged once, and sampling goes on when there is space again."""
    writer = SystemFileWriter(str(tmp_path), "algo-1", Clock())
    writer.start(MINUTE)
    blocked = tmp_path / "system" / "incremental"
    os.rename(blocked, tmp_path / "away")
    blocked.write_text("a file where a folder has to be")
    for minute in range(5):
        writer.write([row(60 * minute + 1)])
        writer.flush()
    assert len([record for record in caplog.records if "cannot be written" in record.message]) == 1
    assert writer.num_dropped == 2
    blocked.unlink()
    writer.end()
    assert timestamps(tmp_path) == pytest.approx([121, 181, 241])


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({"interval_millis": 50}, "from 100 to 60000 .got 50."),
        ({"interval_millis": True}, "interval_millis"),
        ({"node": "worker-1"}, "node must be algo-<number>"),
        ({"output_path": "s3://bucket/x"}, "folder of this machine"),
    ],
)
def test_settings_when_a_value_is_wrong_then_the_field_is_named(values, part):
    """Wrong settings are refused before a process is started."""
    with pytest.raises(SMDebugValueError, match=part):
        SamplerSettings(**{"output_path": "out", **values})
