"""Profiler data on S3 answer as the same data in a folder, with as few requests as there are files."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.profiler import S3AlgorithmMetricsReader, S3SystemMetricsReader
from sagemaker_debug_ext.profiler.analysis.python_profile_analysis import cProfileAnalysis
from sagemaker_debug_ext.profiler.analysis.utils.merge_timelines import MergedTimeline
from sagemaker_debug_ext.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame
from sagemaker_debug_ext.profiler.trace_export import write_trace
from support.profiler import unpack


@pytest.fixture
def folder(tmp_path):
    return unpack(tmp_path) / "gpu_two_nodes" / "profiler-output"


@pytest.fixture
def url(folder, bucket, upload, proxy, monkeypatch):
    upload(folder, bucket, "job/profiler-output")
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    proxy.reset()
    return f"s3://{bucket}/job/profiler-output"


def test_tables_when_on_s3_then_equal_those_of_the_folder(url, folder):
    """Every value is the same."""
    local, remote = PandasFrame(folder), PandasFrame(url)
    assert remote.get_all_system_metrics().equals(local.get_all_system_metrics())
    assert remote.get_all_framework_metrics().equals(local.get_all_framework_metrics())
    assert remote.get_all_dataloader_metrics().equals(local.get_all_dataloader_metrics())


def test_system_reader_when_everything_is_read_then_costs_a_request_for_each_file(url, proxy):
    """Six files cost six reads, and each look at the list one request."""
    reader = S3SystemMetricsReader(url, use_in_memory_cache=True)
    assert len(reader.get_events(0, 1 << 60)) == 1200
    assert proxy.counts["GET"] == 6
    proxy.reset()
    assert len(reader.get_events(0, 1 << 60)) == 1200
    assert proxy.counts["GET"] == 0
    assert proxy.counts["LIST"] == 1


def test_framework_reader_when_listed_again_then_later_files_are_found(url, folder, bucket, upload, tmp_path):
    """A file that arrives later is read, although the listing restarts near the newest name."""
    reader = S3AlgorithmMetricsReader(url)
    before = len(reader.get_all_events())
    later = tmp_path / "later" / "framework" / "pevents" / "2023111422"
    later.mkdir(parents=True)
    source = next(folder.glob("framework/pevents/*/1700000140885000_41-algo-1_pythontimeline.json"))
    (later / "1700000150000000_41-algo-1_pythontimeline.json").write_bytes(source.read_bytes())
    upload(tmp_path / "later", bucket, "job/profiler-output")
    assert len(reader.get_all_events()) > before


def test_python_profiles_when_on_s3_then_are_fetched_once(url, folder, proxy, tmp_path):
    """The second question reads no file again, and nothing of the caller's folder is deleted."""
    (tmp_path / "stats").mkdir()
    (tmp_path / "stats" / "mine").write_text("kept")
    remote = cProfileAnalysis(tmp_path / "stats", url)
    local = cProfileAnalysis(folder / "framework" / "pytorch" / "cprofile")
    table = remote.list_profile_stats()
    assert len(table) == 7
    assert list(table["start_step"]) == list(local.list_profile_stats()["start_step"])
    proxy.reset()
    stats = remote.fetch_profile_stats_by_step(9, 10)
    assert stats is not None
    assert len(stats.function_stats_list) == 5
    assert proxy.counts["GET"] == 0
    assert (tmp_path / "stats" / "mine").read_text() == "kept"


def test_timelines_when_on_s3_then_equal_those_of_the_folder(url, folder, tmp_path):
    """The trace is the same byte for byte, and a merged timeline can be written to S3."""
    assert write_trace(url, tmp_path / "remote.json.gz") == write_trace(folder, tmp_path / "local.json.gz")
    assert (tmp_path / "remote.json.gz").read_bytes() == (tmp_path / "local.json.gz").read_bytes()
    assert MergedTimeline(url).merge_timeline(0, 1 << 60).startswith(url)
