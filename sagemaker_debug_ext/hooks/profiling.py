"""Profiler methods of `smdebug` hooks, which scripts may call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sagemaker_debug_ext.hooks.fail_safe import script_call
from sagemaker_debug_ext.profiler.timeline.current import current_timeline


class ProfilerCalls:
    """Answers the profiler methods of `smdebug` hooks; without a timeline as in a job without a profiler.

    The hook sets the attributes.
    """

    strict: bool
    _disable: Callable[[Exception], None]

    @script_call
    def record_trace_events(
        self,
        /,  # kwargs may hold any name
        timestamp: float,
        training_phase: str = "",
        op_name: str = "",
        phase: str = "X",
        duration: float = 1,
        **kwargs: Any,
    ) -> None:
        """Add an event to the timeline of this process, if its steps are timed.

        Args:
            timestamp: Start, in seconds since 1970.
            training_phase: What kind of event it is.
            op_name: Name of the event.
            phase: ``X``; other kinds of events are left out.
            duration: Length in seconds.
            kwargs: Further facts, such as ``step_num``.
        """
        timeline = current_timeline()
        if timeline is not None and phase == "X":
            start_ns = timeline.to_clock(timestamp)
            timeline.add(training_phase, op_name, start_ns, start_ns + int(duration * 1e9), kwargs)

    def should_save_dataloader_metrics(self, metrics_name: str) -> bool:  # noqa: ARG002 - smdebug's signature
        """Return False: data loaders are timed without being asked."""
        return False
