"""Events on their way from training to the writing thread."""

from __future__ import annotations

from sagemaker_debug_ext.profiler.timeline.timeline import Timeline


class Writer:
    """Keeps what it is given."""

    num_dropped = 0

    def __init__(self):
        self.spans = []

    def write(self, spans):
        self.spans += spans

    def close(self):
        pass

    def close_if_older(self, now_us):
        pass


def test_stop_when_events_come_from_another_clock_then_last_ones_are_written():
    """What a GPU has passed is read about once a second, and for the last time at the end."""
    writer = Writer()
    timeline = Timeline("nowhere", lambda _: writer)
    timeline.every_second(lambda: timeline.add("StepOnGPU-dev:0", "forward", 1000, 2000))
    timeline.add("Forward", "forward", 0, 1000)
    timeline.stop()
    assert [span.phase for span in writer.spans][:2] == ["Forward", "StepOnGPU-dev:0"]
    assert timeline.num_dropped == 0
    timeline.add("Forward", "forward", 0, 1000)
    assert timeline.num_dropped == 1


def test_stop_when_nothing_was_added_then_later_events_are_refused():
    """No thread is started for them."""
    timeline = Timeline("nowhere", lambda _: Writer())
    timeline.stop()
    timeline.add("Forward", "forward", 0, 1000)
    assert timeline.num_dropped == 1
