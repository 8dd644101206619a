"""The page of a profile says what is slow, when, and where the time goes."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sagemaker_debug_ext.cli.main import main
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.looking.profile.history import MAX_BINS, PARTS, Bins, History, Worker
from sagemaker_debug_ext.looking.profile.page import write_profile_page
from sagemaker_debug_ext.profiler.rules import create_profiler_rule, create_report_rules
from sagemaker_debug_ext.profiler.rules.slices import Readings, Sensor, Slice
from support.profiler import unpack

CPU0 = Sensor("algo-1", "cpu", "cpu0", "CPUUtilization")


@pytest.fixture
def golden(tmp_path):
    return unpack(tmp_path / "golden")


def slice_of(times, values, sensor=CPU0):
    return Slice(0, 1, {sensor: Readings(np.asarray(times, float), np.asarray(values, float))})


def test_page_when_gpus_wait_for_the_cpu_then_begins_with_the_finding_and_shows_every_device(golden, tmp_path):
    """Verdict, idle GPU hours, a picture of each machine, and a bar of each worker."""
    rules = [create_profiler_rule("CPUBottleneck", {"threshold": 19, "patience": 10}), *create_report_rules()[2:]]
    write_profile_page(golden / "gpu_two_nodes" / "profiler-output", tmp_path / "page.html", rules)
    page = (tmp_path / "page.html").read_text()
    assert re.search(r"<h1[^>]*>GPUs waited for the CPU in 33 %", page)
    assert "0.19 of 0.32 GPU hours idle: 8 GPUs were below 10 % in 60 % of the samples" in page
    for machine in ("algo-1", "algo-2"):
        assert f"{machine}: utilization of each GPU and core" in page
    for name in ("gpu3", "cpu1", "algo-1-41", "algo-2-52", "backward", "not evaluated: 30 of 1000 points"):
        assert name in page
    assert len(re.findall(r'href="data:image/png', page)) == 2
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")


def test_page_when_nothing_is_found_then_says_so(golden, tmp_path):
    """Rules without a verdict are no health."""
    path = golden / "measured_host" / "profiler-output"
    write_profile_page(path, tmp_path / "page.html", [create_profiler_rule("HostMemoryPressure")])
    assert "No rule found an issue." in (tmp_path / "page.html").read_text()
    write_profile_page(path, tmp_path / "page.html", [create_profiler_rule("IdleGPU")])
    assert "No rule could be evaluated." in (tmp_path / "page.html").read_text()


def test_page_when_names_hold_markup_then_they_are_text(golden, tmp_path):
    """Whoever writes profiler data cannot write scripts."""
    path = golden / "measured_host" / "profiler-output"
    for file in path.rglob("*.json"):
        file.write_text(file.read_text().replace('"cpu0"', '"<script>0"').replace("algo-1", "algo-1"))
    write_profile_page(path, tmp_path / "page.html", [create_profiler_rule("HostMemoryPressure")])
    page = (tmp_path / "page.html").read_text()
    assert "&lt;script&gt;0" in page
    assert "<script>0" not in page


def test_page_when_there_are_no_data_then_is_not_written(tmp_path):
    """A wrong path is an error and no empty page."""
    with pytest.raises(SMDebugValueError, match="holds no profiler data"):
        write_profile_page(tmp_path, tmp_path / "page.html", [])
    assert not (tmp_path / "page.html").exists()


def test_command_when_a_page_is_asked_for_then_writes_it_and_the_files(golden, tmp_path, capsys):
    """Both, or one of them; with neither it says what to name."""
    path = str(golden / "gpu_two_nodes" / "profiler-output")
    page = tmp_path / "page.html"
    assert main(["profile", "report", path, str(tmp_path / "out"), "-o", str(page)]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{tmp_path / 'out'}: 11 files", str(page)]
    assert "DataloaderStall" in page.read_text()
    assert main(["profile", "report", path]) == 2
    assert "a page with -o" in capsys.readouterr().err


def test_history_when_the_job_is_long_then_keeps_means_in_bounded_memory():
    """A day of samples a second is as large as ten minutes of them."""
    history = History()
    for hour in range(24):
        times = 1.7e9 + 3600 * hour + np.arange(3600)
        history.add(slice_of(times, np.full(3600, float(hour))))
    assert history.num_bins <= 2 * MAX_BINS
    means = history.sensors[CPU0].means(history.num_bins)
    places = (np.arange(history.num_bins) + 0.5) * history.seconds / 3600
    assert np.abs(means - np.floor(places)).max() <= 1
    assert history.sensors[CPU0].counts.sum() == 24 * 3600


def test_history_when_a_clock_jumps_back_then_the_values_count_at_the_start():
    """Times before the first one have no place of their own."""
    history = History()
    history.add(slice_of([100.0, 101.0], [1, 2]))
    history.add(slice_of([50.0], [3]))
    assert history.sensors[CPU0].counts.sum() == 3


def test_bins_when_halved_then_hold_the_same_sums():
    """Each two parts become one."""
    bins = Bins()
    bins.add(np.arange(2 * MAX_BINS), np.arange(2.0 * MAX_BINS))
    total = bins.sums.sum()
    bins.halve()
    assert bins.sums.sum() == total
    assert bins.means(1)[0] == 0.5
    assert np.isnan(bins.means(2 * MAX_BINS)[-1])


def test_worker_when_steps_have_parts_then_shares_add_up():
    """Forward, backward and optimizer are parts of the step; waits and evaluations are not."""
    parts = {"waiting for a batch": 2.0, "forward": 1.0, "backward": 2.0, "optimizer": 0.5, "evaluation": 1.0}
    shares = Worker(0.0, 10.0, parts, train=4.0).shares()
    assert shares["rest of the step"] == pytest.approx(0.05)
    assert shares["between steps"] == pytest.approx(0.3)
    assert sum(shares[name] for name in PARTS) == pytest.approx(1)
