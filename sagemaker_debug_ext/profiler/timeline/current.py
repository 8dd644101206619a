"""The timeline of this process, if there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sagemaker_debug_ext.profiler.timeline.timeline import Timeline


class _Slot:
    timeline: Timeline | None = None


def current_timeline() -> Timeline | None:
    """Return the timeline of this process; None if its steps are not timed."""
    return _Slot.timeline


def set_current_timeline(timeline: Timeline | None) -> None:
    """Make a timeline the one of this process."""
    _Slot.timeline = timeline
