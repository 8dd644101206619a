"""Use of a container is measured against its limits."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.profiler.sampler.cgroup import Cgroup


@pytest.fixture
def make_cgroup(tmp_path):
    def make(files: dict[str, str], membership: str = "0::/job/task\n") -> Cgroup:
        root = tmp_path / "cgroup"
        (root / "job" / "task").mkdir(parents=True)
        (root / "cgroup.controllers").write_text("cpu memory")
        (tmp_path / "membership").write_text(membership)
        for name, content in files.items():
            (root / name).write_text(content)
        return Cgroup.of_this_process(str(root), str(tmp_path / "membership"))

    return make


def test_memory_when_two_groups_limit_it_then_the_tightest_counts_without_droppable_files(make_cgroup):
    """A parent's limit applies, too; cached files do not bring a container closer to its end."""
    group = make_cgroup(
        {
            "job/task/memory.max": "max\n",
            "job/task/memory.current": "500\n",
            "job/memory.max": "1000\n",
            "job/memory.current": "900\n",
            "job/memory.stat": "anon 400\ninactive_file 300\n",
        }
    )
    assert group.memory_used_percent(group.memory_limits()) == 60.0


def test_cpu_when_a_quota_is_set_then_is_the_number_of_cores(make_cgroup):
    """``cpu.max`` holds quota and period; without a quota there is no limit."""
    files = {
        "job/task/cpu.max": "max 100000\n",
        "job/cpu.max": "150000 100000\n",
        "job/task/cpu.stat": "usage_usec 2500000\nuser_usec 1\nthrottled_usec 500000\n",
        "job/task/memory.events": "low 0\noom 2\noom_kill 1\n",
    }
    group = make_cgroup(files)
    assert group.cpu_limit() == 1.5
    assert group.cpu_seconds() == (2.5, 0.5)
    assert group.num_out_of_memory_kills() == 1


@pytest.mark.parametrize("membership", ["9:name=systemd:/\n", "", "0::/elsewhere/../x\n"])
def test_cgroup_when_nothing_is_known_then_nothing_is_limited(make_cgroup, membership):
    """Machines without control groups of version 2, or without limits, answer None."""
    group = make_cgroup({}, membership)
    assert group.memory_used_percent(group.memory_limits()) is None
    assert group.cpu_limit() is None
    assert group.cpu_seconds() is None
    assert group.num_out_of_memory_kills() == 0


def test_cgroup_when_there_is_no_proc_then_has_no_groups(tmp_path):
    """A missing file is no error."""
    assert Cgroup.of_this_process(str(tmp_path), str(tmp_path / "none")) == Cgroup()


def test_cgroup_when_it_is_of_version_1_then_each_controller_has_a_folder_of_its_own(tmp_path):
    """Nanoseconds, an enormous number for no limit, and paths that a container may not see."""
    files = {
        "memory/job/memory.limit_in_bytes": "1000\n",
        "memory/job/memory.usage_in_bytes": "900\n",
        "memory/job/memory.stat": "cache 5\ntotal_inactive_file 300\n",
        "memory/job/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
        "memory/memory.limit_in_bytes": "9223372036854771712\n",
        "memory/memory.usage_in_bytes": "99999\n",
        "cpu/cpu.cfs_quota_us": "-1\n",
        "cpu/cpu.cfs_period_us": "100000\n",
        "cpu/job/cpu.cfs_quota_us": "150000\n",
        "cpu/job/cpu.cfs_period_us": "100000\n",
        "cpu/job/cpu.stat": "nr_periods 7\nnr_throttled 3\nthrottled_time 500000000\n",
        "cpuacct/cpuacct.usage": "2500000000\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "membership").write_text("4:memory:/job\n3:cpu:/job\n2:cpuacct:/job/of/the/host\n0::/\n")
    group = Cgroup.of_this_process(str(tmp_path), str(tmp_path / "membership"))
    assert group.memory_used_percent(group.memory_limits()) == 60.0
    assert group.cpu_limit() == 1.5
    assert group.cpu_seconds() == (2.5, 0.5)
    assert group.num_out_of_memory_kills() == 2
