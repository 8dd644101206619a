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
    assert group.memory_used_percent() == 60.0


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
    assert group.memory_used_percent() is None
    assert group.cpu_limit() is None
    assert group.cpu_seconds() is None
    assert group.num_out_of_memory_kills() == 0


def test_cgroup_when_there_is_no_proc_then_has_no_groups(tmp_path):
    """A missing file is no error."""
    assert Cgroup.of_this_process(str(tmp_path), str(tmp_path / "none")).folders == ()
