"""The real smdebug reads what the sampler wrote, and gives equal tables."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("psutil")
smdebug_frames = pytest.importorskip("smdebug.profiler.analysis.utils.profiler_data_to_pandas")

from sagemaker_debug_ext.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame  # noqa: E402
from sagemaker_debug_ext.profiler.sampler import start_sampler  # noqa: E402


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
