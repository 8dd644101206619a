"""Scripts that `laptop run` runs follow their jobs without long waits."""

from __future__ import annotations

import time
import types

import pytest

from sagemaker_debug_ext.laptop import script


def test_clock_when_waits_are_shortened_then_goes_as_if_they_were_not(monkeypatch):
    """A loop that sleeps ten seconds and asks every thirty asks at every third turn."""
    slept, now = [], [1000.0]
    clock = types.ModuleType("time")  # of this module only: threads of other tests sleep, too
    clock.sleep = lambda seconds: (slept.append(seconds), now.append(now[-1] + seconds))
    clock.time = lambda: now[-1]
    clock.monotonic = time.monotonic
    monkeypatch.setattr(script, "time", clock)
    module = types.ModuleType("sdk")
    module.time = time
    script.shorten_waits(module)
    began = module.time.time()
    for _ in range(3):
        module.time.sleep(10)
    assert module.time.time() - began == pytest.approx(30)
    assert slept == pytest.approx([0.5] * 3)
    assert module.time.monotonic is time.monotonic
    assert time.sleep is not module.time.sleep
