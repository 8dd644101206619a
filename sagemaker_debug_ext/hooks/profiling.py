"""Profiler methods of `smdebug` hooks, which scripts may call."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sagemaker_debug_ext.hooks.fail_safe import script_call
from sagemaker_debug_ext.profiler.timeline.current import current_timeline
from sagemaker_debug_ext.profiler.timeline.detail.config_file import config_path

if TYPE_CHECKING:
    from sagemaker_debug_ext.profiler.timeline.timeline import Timeline


class ProfilerCalls:
    """Answers the profiler methods of `smdebug` hooks; without a timeline as in a job without a profiler.

    The hook sets the attributes.
    """

    strict: bool
    _disable: Callable[[Exception], None]
    _timeline: Timeline | None = None

    def _begin_timeline(self) -> None:
        """Time the steps of this process if ``profilerconfig.json`` has parameters, whichever, as `smdebug` does."""
        if os.path.exists(config_path(os.environ)):
            from sagemaker_debug_ext.profiler.timeline.start import start_timeline_from_config  # noqa: PLC0415 - rare

            self._timeline = start_timeline_from_config()

    def _publish_timeline(self) -> None:
        """Make the events so far visible to readers, if this hook began the timeline."""
        if self._timeline is not None:
            self._timeline.publish()

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
