"""Calls that scripts make for the profiler, which has no part in hooks here."""

from __future__ import annotations

from typing import Any


class ProfilerCalls:
    """What `smdebug` offers for its profiler, and answers as it does in a job without one."""

    def record_trace_events(self, *_: Any, **__: Any) -> None:
        """Do nothing: without a profiler there is no timeline to which an event could be added."""

    def should_save_dataloader_metrics(self, metrics_name: str) -> bool:  # noqa: ARG002 - the same of all
        """Return False: without a profiler no metrics of data loaders are saved."""
        return False
