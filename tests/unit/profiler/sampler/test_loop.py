"""Samples fall on multiples of the interval, and what fails or costs too much is left out."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.profiler.sampler.child import describe_end
from sagemaker_debug_ext.profiler.sampler.loop import SamplingLoop, next_tick
from sagemaker_debug_ext.profiler.sampler.sensors import Value


class Machine:
    """Time, and a writer that keeps rows."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.3
        self.cpu = 0.0
        self.rows = []

    def clock(self) -> float:
        return self.now

    def start(self, now) -> None:
        pass

    def flush(self) -> None:
        pass

    def write(self, rows) -> None:
        self.rows += rows

    def loop(self, fast, slow=(), requested=lambda: 0.5) -> SamplingLoop:
        return SamplingLoop(
            self,
            "algo-1",
            requested,
            fast,
            slow,
            clock=self.clock,
            cpu_clock=lambda: self.cpu,
            monotonic=self.clock,
        )

    def run(self, loop, num_samples) -> None:
        left = [num_samples]

        def wait(seconds) -> bool:
            self.now += seconds
            left[0] -= 1
            return left[0] > 0

        loop.run(wait)


def memory():
    return [Value("memory", "MemoryUsedPercent", "", 12.345)]


@given(st.floats(1e9, 2e9), st.sampled_from([0.1, 0.2, 0.5, 1.0, 5.0, 60.0]))
def test_next_tick_when_asked_at_any_time_then_is_the_next_multiple(now, interval):
    """The wait is positive, at most one interval, and ends on a multiple."""
    tick = next_tick(now, interval)
    assert 0 < tick - now <= interval * 1.001
    assert math.isclose(tick / interval, round(tick / interval), rel_tol=1e-9)


def test_loop_when_it_runs_then_samples_at_once_and_on_multiples(tmp_path):
    """A short job has data, and ticks do not drift."""
    machine = Machine()
    machine.run(machine.loop([memory]), 4)
    times = [round(row.timestamp - 1_700_000_000, 3) for row in machine.rows]
    assert times == [0.3, 0.5, 1.0, 1.5]
    assert {row.value for row in machine.rows} == {12.35 if round(12.345, 2) == 12.35 else 12.34}


def test_loop_when_a_sensor_fails_then_the_others_go_on_and_it_is_logged_once(caplog):
    """A lost device costs its own values."""
    machine = Machine()

    def lost():
        raise RuntimeError("GPU is lost")

    machine.run(machine.loop([lost, memory]), 3)
    assert len(machine.rows) == 3
    assert len([record for record in caplog.records if "GPU is lost" in record.message]) == 1


def test_loop_when_a_reading_cannot_be_parsed_then_the_others_go_on_and_it_is_logged_once(caplog):
    """Values are taken when they are written, so a sensor may fail by then."""
    machine = Machine()

    def odd():
        yield Value("i/o", "IOPS", "", 1.0)
        raise ValueError("not a counter")

    machine.run(machine.loop([odd, memory]), 3)
    assert [row.type for row in machine.rows] == ["i/o", "memory", "memory", "memory"]
    assert len([record for record in caplog.records if "not a counter" in record.message]) == 1


def test_loop_when_a_value_is_not_a_number_then_it_is_left_out():
    """Files hold numbers only."""
    machine = Machine()
    machine.run(machine.loop([lambda: [Value("gpu", "gpu0", "GPUUtilization", math.nan)], memory]), 1)
    assert [row.type for row in machine.rows] == ["memory"]


def test_loop_when_it_costs_too_much_then_halves_its_rate_and_says_so(caplog):
    """Training comes first: the interval doubles, in the log and in the data."""
    machine = Machine()

    def expensive():
        machine.cpu += 0.01
        return memory()

    loop = machine.loop([expensive])
    machine.run(loop, 70)
    assert loop.interval == 1.0
    assert "a sample every 1 s" in caplog.text
    recorded = [row.value for row in machine.rows if row.dimension == "SamplingIntervalSeconds"]
    assert recorded == [1.0]


def test_loop_when_it_is_cheap_again_then_returns_to_the_rate_that_was_asked_for():
    """A busy machine makes samples dear for a time only; the rate never exceeds what was asked for."""
    machine = Machine()
    seconds_of_a_sample = [0.018]

    def sensor():
        machine.cpu += seconds_of_a_sample[0]
        return memory()

    loop = machine.loop([sensor])
    machine.run(loop, 400)
    assert loop.interval == 4.0
    seconds_of_a_sample[0] = 0.0008
    machine.run(loop, 400)
    assert loop.interval == 0.5


def test_loop_when_twice_the_rate_would_cost_too_much_then_keeps_the_lower_one():
    """The rate does not swing."""
    machine = Machine()

    def sensor():
        machine.cpu += 0.004
        return memory()

    loop = machine.loop([sensor])
    machine.run(loop, 600)
    recorded = [row.value for row in machine.rows if row.dimension == "SamplingIntervalSeconds"]
    assert set(recorded) == {1.0}


def test_loop_when_another_interval_is_asked_for_then_follows_within_a_second():
    """A long interval is not waited for, and what is switched off writes nothing."""
    machine = Machine()
    begin = machine.now

    def requested():
        seconds = machine.now - begin
        return 60.0 if seconds < 3 else None if seconds < 10 else 2.0

    machine.run(machine.loop([memory], requested=requested), 17)
    times = [round(row.timestamp - begin + 0.3, 3) for row in machine.rows if row.type == "memory"]
    assert times == [0.3, 10.3, 12.0, 14.0, 16.0]


def test_loop_when_its_rate_was_halved_then_a_new_interval_wins():
    """What is asked for later is tried, although the interval before was too short."""
    machine = Machine()
    asked = [0.5]

    def expensive():
        machine.cpu += 0.01
        return memory()

    loop = machine.loop([expensive], requested=lambda: asked[0])
    machine.run(loop, 70)
    assert loop.interval == 1.0
    asked[0] = 5.0
    machine.run(loop, 3)
    assert loop.interval == 5.0


def test_loop_when_sources_are_slow_then_they_are_read_less_often():
    """What changes slowly is not read at every sample."""
    machine = Machine()
    calls = []
    machine.run(machine.loop([memory], [lambda: calls.append(1) or []]), 91)
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("words", "kills", "cause", "code"),
    [
        ({"exit_code": 0}, 0, "exited", 0),
        ({"exit_code": 3}, 0, "exited", 3),
        (None, 0, "killed", None),
        (None, 1, "out of memory", None),
        ({"exit_code": -9}, 2, "out of memory", -9),
    ],
)
def test_end_when_described_then_says_why(words, kills, cause, code):
    """The last words tell an exit from a kill, and a kill for lack of memory from others."""
    end = describe_end(words, kills, 5.0)
    assert (end["cause"], end["exit_code"], end["ended_at"]) == (cause, code, 5.0)
