"""Times the steps of a training process, in the trace files of section 1.3 of the profiler format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sagemaker_debug_ext._imports.lazy import lazy_names

if TYPE_CHECKING:
    from sagemaker_debug_ext.profiler.timeline.phases import profile_phase
    from sagemaker_debug_ext.profiler.timeline.start import start_timeline
    from sagemaker_debug_ext.profiler.timeline.timeline import Timeline

__all__ = ["Timeline", "profile_phase", "start_timeline"]

__getattr__ = lazy_names(
    __name__,
    {
        "Timeline": "profiler.timeline.timeline",
        "profile_phase": "profiler.timeline.phases",
        "start_timeline": "profiler.timeline.start",
    },
)
