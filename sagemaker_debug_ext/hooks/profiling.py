"""Profiler methods of `smdebug` hooks, which scripts may call."""

from __future__ import annotations

from typing import Any


class ProfilerCalls:
    """Answers the profiler methods of `smdebug` hooks as in a job without a profiler."""

    def record_trace_events(self, *_: Any, **__: Any) -> None:
        """Do nothing: without a profiler there is no timeline to add an event to."""

    def should_save_dataloader_metrics(self, metrics_name: str) -> bool:  # noqa: ARG002 - smdebug's signature
        """Return False: without a profiler no data loader metrics are saved."""
        return False
