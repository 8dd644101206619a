"""Counters from ``/proc`` are those of psutil."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

from sagemaker_debug_ext.profiler.sampler.proc_counters import CoreTimes, ProcCounters, PsutilCounters, find_counters

FILES = {
    "stat": "cpu  30 0 0 0 0 0 0 0\ncpu0 100 200 300 400 500 600 700 800 900\ncpu3 1 2 3 4 5 6 7 8 9\nintr 5\n",
    "meminfo": "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 250 kB\nBuffers: 5 kB\n",
    "diskstats": "259 0 nvme0n1 10 1 16 2 20 3 32 4 0 0 0\n259 1 nvme0n1p1 9 1 15 2 19 3 31 4 0 0 0\n",
    "net/dev": "Inter-|\n face |\n    lo: 1 2 3 4 5 6 7 8 9 10\neth0:1: 100 0 0 0 0 0 0 0 200 0\n",
}


@pytest.fixture
def folders(tmp_path):
    proc, disks = tmp_path / "proc", tmp_path / "block"
    for name, text in FILES.items():
        (proc / name).parent.mkdir(parents=True, exist_ok=True)
        (proc / name).write_text(text)
    (disks / "nvme0n1").mkdir(parents=True)
    return proc, disks


def test_counters_when_the_files_are_known_then_have_the_units_of_psutil(folders):
    """Seconds and bytes; partitions do not count, and neither does the sum of all cores."""
    counters = ProcCounters(*map(str, folders))
    ticks = os.sysconf("SC_CLK_TCK")
    assert counters.cpu_times()()[0] == CoreTimes(*(value / ticks for value in range(100, 900, 100)))
    assert len(counters.cpu_times()()) == 2
    assert counters.virtual_memory()().percent == 75
    assert counters.disk_io_counters()() == (10, 20, 16 * 512, 32 * 512)
    assert counters.net_io_counters()() == {"lo": (9, 1), "eth0:1": (200, 100)}


def test_counters_when_the_files_change_then_follow(folders):
    """A kept file is read from its start each time."""
    counters = ProcCounters(*map(str, folders))
    assert counters.virtual_memory()().percent == 75
    (folders[0] / "meminfo").write_text("MemTotal: 1000 kB\nMemFree: 0 kB\nMemAvailable: 100 kB\n")
    assert counters.virtual_memory()().percent == 90


def test_counters_when_parsed_late_then_are_those_of_the_reading(folders):
    """What has changed since does not matter."""
    counters = ProcCounters(*map(str, folders))
    parse = counters.virtual_memory()
    (folders[0] / "meminfo").write_text("MemTotal: 1000 kB\nMemFree: 0 kB\nMemAvailable: 100 kB\n")
    assert parse().percent == 75


def test_counters_when_a_file_is_longer_than_a_read_then_all_of_it_counts(folders):
    """Machines with hundreds of cores have long files."""
    lines = [f"cpu{core} {core} 0 0 {10**9} 0 0 0 0" for core in range(3000)]
    (folders[0] / "stat").write_text("\n".join(["cpu  1 0 0 0 0 0 0 0", *lines, "intr 5\n"]))
    times = ProcCounters(*map(str, folders)).cpu_times()()
    assert [round(core.user * os.sysconf("SC_CLK_TCK")) for core in times] == list(range(3000))


def test_counters_when_there_is_no_proc_then_are_those_of_psutil(monkeypatch):
    """Other systems have no such files."""
    psutil = SimpleNamespace(virtual_memory=lambda: "memory of psutil")
    monkeypatch.setattr(os, "open", _refuse)
    found = find_counters(psutil)
    assert isinstance(found, PsutilCounters)
    assert found.virtual_memory()() == "memory of psutil"


def _refuse(*_args, **_options):
    raise FileNotFoundError


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
def test_counters_when_psutil_reads_the_same_machine_then_agree():
    """The same cores, disks and interfaces, and numbers of the same size."""
    psutil = pytest.importorskip("psutil")
    ours = find_counters(psutil)
    assert isinstance(ours, ProcCounters)
    for own, theirs in zip(ours.cpu_times()(), psutil.cpu_times(percpu=True), strict=True):
        for field in own._fields:
            assert getattr(own, field) == pytest.approx(getattr(theirs, field), abs=2)
    assert ours.virtual_memory()().percent == pytest.approx(psutil.virtual_memory().percent, abs=5)
    assert set(ours.net_io_counters()()) == set(psutil.net_io_counters(pernic=True))
    own_disks, their_disks = ours.disk_io_counters()(), psutil.disk_io_counters(nowrap=False)
    assert (own_disks is None) == (their_disks is None)
    if own_disks is not None:
        assert own_disks.read_bytes == pytest.approx(their_disks.read_bytes, rel=0.01, abs=1 << 24)
        assert own_disks.write_count == pytest.approx(their_disks.write_count, rel=0.01, abs=1000)
