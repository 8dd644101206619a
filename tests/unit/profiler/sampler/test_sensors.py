"""Sensors give percent and rates, and no value where a counter makes no sense."""

from __future__ import annotations

from collections import namedtuple
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.profiler.sampler.cgroup import Cgroup
from sagemaker_debug_ext.profiler.sampler.proc_counters import PsutilCounters
from sagemaker_debug_ext.profiler.sampler.sensors import Processors, Rates, disk_source, network_source

Times = namedtuple("Times", "user nice system idle iowait irq softirq steal guest guest_nice")
Traffic = namedtuple("Traffic", "bytes_sent bytes_recv")


@given(
    st.lists(
        st.tuples(st.floats(0.001, 1000), st.dictionaries(st.sampled_from("ab"), st.integers(0, 10**12))), max_size=10
    )
)
def test_rates_when_counters_reset_then_equal_a_naive_difference(readings):
    """A rate is the difference over the measured time, and there is none for a counter that went back or is new."""
    now = [0.0]
    rates = Rates()
    last: dict[str, int] | None = None
    for span, counters in readings:
        now[0] += span
        found = rates.update(counters, now[0])
        expected = (
            {} if last is None else {key: n - last[key] for key, n in counters.items() if n >= last.get(key, n + 1)}
        )
        assert set(found) == set(expected)
        for key, difference in expected.items():
            assert found[key] == pytest.approx(difference / span, rel=1e-6)
        last = counters


def processors(*readings):
    left = iter(readings)
    source = Processors(PsutilCounters(SimpleNamespace(cpu_times=lambda percpu: next(left))), Cgroup())
    source._cores = None
    return [[(value.name, value.dimension, value.value) for value in source()] for _ in readings]


def test_processors_when_a_core_waits_for_a_disk_then_waiting_counts_as_busy():
    """Utilization is 100 - idle, and guest time is not counted twice."""
    first, second = processors([Times(*[0] * 10)], [Times(40, 0, 10, 36, 14, 0, 0, 0, 40, 0)])
    assert first == []
    assert second == [("cpu0", "CPUUtilization", 64.0), ("cpu0", "I/OWaitPercentage", 14.0)]


def test_processors_when_counters_go_back_then_that_core_has_no_value():
    """A reset gives no value, and the next reading does."""
    before, reset, after = Times(*[50] * 10), Times(*[0] * 10), Times(*[10] * 10)
    found = processors([before], [reset], [after])
    assert [len(values) for values in found] == [0, 0, 2]


def test_disks_when_there_are_none_then_give_no_value():
    """Containers may see no disk."""
    assert list(disk_source(PsutilCounters(SimpleNamespace(disk_io_counters=lambda nowrap: None)))()) == []


def test_network_when_a_loopback_exists_then_traffic_within_the_machine_is_apart():
    """Other machines and this one are two dimensions, receive before transmit."""
    readings = iter([{"lo": Traffic(0, 0), "eth0": Traffic(0, 0)}, {"lo": Traffic(5, 5), "eth0": Traffic(10, 20)}])
    now = iter([0.0, 2.0])
    library = SimpleNamespace(net_io_counters=lambda pernic, nowrap: next(readings))
    source = network_source(PsutilCounters(library), lambda: next(now))
    assert list(source()) == []
    assert [(value.name, value.dimension, value.value) for value in source()] == [
        ("ReceiveBytesPerSecond", "Algorithm", 10.0),
        ("TransmitBytesPerSecond", "Algorithm", 5.0),
        ("ReceiveBytesPerSecond", "Platform", 2.5),
        ("TransmitBytesPerSecond", "Platform", 2.5),
    ]
