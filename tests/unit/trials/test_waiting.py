"""Waiting: bounded, with a clock and a sleep of one's own."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.trials.waiting import Polling


def test_wait_when_it_has_happened_then_does_not_sleep(clock):
    """What is there already costs no time."""
    assert clock.polling().wait_until(lambda: True, 0)
    assert clock.now == 0


def test_wait_when_it_happens_later_then_returns_at_the_next_look(clock):
    """The wait ends at the first look after it happened."""
    happened = []
    clock.at(2.5, lambda: happened.append(True))
    assert clock.polling().wait_until(lambda: bool(happened))
    assert clock.now == 3


@pytest.mark.parametrize("timeout_seconds", [0, 0.5, 3, 3.5])
def test_wait_when_the_time_is_over_then_says_so_at_once(clock, timeout_seconds):
    """No wait is longer than it may be, and the last look is at its end."""
    looks = []
    assert not clock.polling().wait_until(lambda: looks.append(clock.now), timeout_seconds)
    assert looks[-1] == clock.now == timeout_seconds


def test_wait_when_looking_takes_long_then_looks_less_often(clock):
    """Looking takes a fiftieth of the time at most, unless nobody would look for five seconds then."""
    looks = []

    def look(seconds):
        looks.append(clock.now)
        clock.now += seconds
        return len(looks) % 3 == 0

    assert clock.polling(0.05).wait_until(lambda: look(0.0625))
    assert clock.polling(0.05).wait_until(lambda: look(2))
    assert looks[:3] == [0, 3.1875, 6.375]
    assert [later - looks[3] for later in looks[3:]] == [0, 7, 14]


def test_polling_when_not_told_otherwise_then_uses_the_real_clock():
    """The defaults work."""
    looks = iter([False, True])
    assert Polling(poll_seconds=1e-6).wait_until(lambda: next(looks), 60)
