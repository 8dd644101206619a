"""The real smdebug reads what the sampler and the timeline wrote, and gives equal tables."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("psutil")
smdebug_frames = pytest.importorskip("smdebug.profiler.analysis.utils.profiler_data_to_pandas")

smdebug_metrics = pytest.importorskip("smdebug.profiler.algorithm_metrics_reader")

from sagemaker_debug_ext.profiler import LocalAlgorithmMetricsReader  # noqa: E402
from sagemaker_debug_ext.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame  # noqa: E402
from sagemaker_debug_ext.profiler.sampler import start_sampler  # noqa: E402
from sagemaker_debug_ext.profiler.timeline.trace_writer import TraceFileWriter, TraceSpan  # noqa: E402


def test_original_when_reading_sampled_data_then_gives_the_same_table(tmp_path):
    """Every row, column and value is equal."""
    with start_sampler(tmp_path, 100):
        time.sleep(3)
    ours = PandasFrame(tmp_path).get_all_system_metrics()
    theirs = smdebug_frames.PandasFrame(str(tmp_path)).get_all_system_metrics().reset_index(drop=True)
    assert len(ours) > 50
    assert list(ours.columns) == list(theirs.columns)
    for column in ours.columns:
        assert list(ours[column]) == list(theirs[column])


def test_original_when_reading_a_timeline_then_gives_the_same_events(tmp_path):
    """Every step and phase that our writer wrote, with absolute times, over two files."""
    base_us = 1_700_000_000_000_000
    writer = TraceFileWriter(str(tmp_path), "7-algo-1", base_us)
    for number in range(90):
        start_us = base_us + 1_000_000 * number
        facts = {"pid": 7, "step_num": str(number)}
        writer.write(
            [
                TraceSpan("Forward", "forward", start_us, 300_000, facts),
                TraceSpan("Step:ModeKeys.TRAIN", "Step:ModeKeys.TRAIN", start_us, 900_000, facts),
            ]
        )
    writer.close()
    assert len(list(tmp_path.rglob("*_pythontimeline.json"))) == 2
    theirs = smdebug_metrics.LocalAlgorithmMetricsReader(str(tmp_path))
    ours = LocalAlgorithmMetricsReader(tmp_path)
    span = (base_us, base_us + 100_000_000)
    fields = ("start_time", "end_time", "event_name", "event_phase", "event_args", "node_id", "pid")
    read = [
        sorted([str([getattr(event, field) for field in fields]) for event in reader.get_events(*span)])
        for reader in (ours, theirs)
    ]
    assert len(read[0]) == 180
    assert read[0] == read[1]
