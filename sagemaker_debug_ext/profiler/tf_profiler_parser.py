"""Parsers of the kinds of trace files."""

from __future__ import annotations

import os
from typing import Any, Final

from sagemaker_debug_ext.profiler.format.file_names import read_tf_profiler_metadata_file
from sagemaker_debug_ext.profiler.profiler_constants import TF_METRICS_PREFIX
from sagemaker_debug_ext.profiler.trace_event_file_parser import TraceEvent, TraceEventParser

_TF_PHASES: Final = ("ForwardPass", "ComputeGradient", "ApplyGradient")


class SMProfilerEvents(TraceEventParser):
    """Events that a hook wrote."""

    def __init__(self, type: str = "PythontimelineMetrics") -> None:  # noqa: A002 - smdebug's name
        super().__init__(type)


class HorovodProfilerEvents(TraceEventParser):
    """Events of Horovod's timeline."""

    def __init__(self) -> None:
        super().__init__("HorovodMetrics")


class SMDataParallelProfilerEvents(TraceEventParser):
    """Events of SageMaker's data-parallel library."""

    def __init__(self) -> None:
        super().__init__("SMDataParallelMetrics")


class TensorboardProfilerEvents(TraceEventParser):
    """Events of TensorFlow's own profiler, whose base time is in the name of a metadata file."""

    def __init__(self) -> None:
        super().__init__("TFProfilerMetrics")

    def _entries_before(self, tracefile: str) -> list[dict[str, Any]]:
        return [base_time_entry(int(read_tf_profiler_metadata_file(tracefile)[1]))]

    def _node_of(self, tracefile: str) -> str:
        return host_of(tracefile)

    def get_complete_op_events(self, tracefile: str) -> list[tuple[TraceEvent, str]]:
        """Add the events of a local file; return all events of a training phase, each with that phase."""
        self.read_events_from_file(tracefile)
        found = ((event, _training_phase(event)) for event in self.get_all_events() if event.event_args is not None)
        return [(event, phase) for event, phase in found if phase]

    def get_training_info(self, tracefile: str) -> dict[str, list[list[Any]]]:
        """Return name, start and duration of the events of each training phase, in microseconds."""
        found: dict[str, list[list[Any]]] = {phase: [] for phase in _TF_PHASES}
        for event, phase in self.get_complete_op_events(tracefile):
            found[phase].append([event.event_name, event.start_time, event.duration])
        return found


def _training_phase(event: TraceEvent) -> str | None:
    if not event.event_name.startswith(TF_METRICS_PREFIX):
        return None
    phase = event.event_name.partition("/")[0].removeprefix(TF_METRICS_PREFIX)
    return phase if phase in _TF_PHASES else None


def base_time_entry(start_us: int) -> dict[str, Any]:
    """Return the metadata entry that says when the times of a trace begin, in microseconds since 1970."""
    return {"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros": start_us}}


def host_of(tracefile: str) -> str:
    """Return the host in the name of a TensorFlow trace."""
    return os.path.basename(tracefile).partition(".")[0]
