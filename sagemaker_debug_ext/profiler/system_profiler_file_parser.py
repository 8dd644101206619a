"""Events of system metrics, and a parser of single files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext.profiler.format.system_rows import SystemRow, parse_rows
from sagemaker_debug_ext.profiler.format.times import TimeUnits, convert_utc_timestamp_to_nanoseconds


@attrs.define(eq=False)
class ProfilerSystemEvent:
    """One value of one sensor.

    Attributes:
        type: ``cpu``, ``gpu``, ``memory``, ``i/o`` or ``network``.
        name: The sensor, such as ``cpu0``; None if the file does not name it.
        dimension: What is measured, such as ``CPUUtilization``; empty for memory and disk.
        value: Percent, or a rate per second.
        node_id: The machine, such as ``algo-1``.
        timestamp: Seconds since 1970.
    """

    type: str
    name: str | None
    dimension: str
    value: float
    node_id: str
    timestamp: float


class SystemProfilerEventParser:
    """Collects the events of files of system metrics."""

    def __init__(self) -> None:
        self._events: list[ProfilerSystemEvent] = []

    def read_events_from_file(self, eventfile: str) -> None:
        """Add the events of a local file; damaged lines are left out.

        Raises:
            OSError: The file cannot be read.
        """
        with open(eventfile, "rb") as file:
            rows, _ = parse_rows(file.read())
        self.add_rows(rows.rows())

    def read_events_from_json_data(self, system_profiler_json_data: Iterable[Mapping[str, Any]]) -> None:
        """Add events that are parsed JSON objects."""
        for event in system_profiler_json_data:
            self.read_event_from_dict(event)

    def read_event_from_dict(self, event: Mapping[str, Any]) -> None:
        """Add an event that is a parsed JSON object.

        Raises:
            KeyError: A member other than ``Name`` is missing.
        """
        members = (event[key] for key in ("Dimension", "Value", "NodeId", "Timestamp"))
        self._events.append(ProfilerSystemEvent(event["Type"], event.get("Name"), *members))

    def add_rows(self, rows: Iterable[SystemRow]) -> None:
        """Add parsed rows."""
        self._events.extend(ProfilerSystemEvent(*row) for row in rows)

    def get_events_within_time_range(
        self,
        start_time: float,
        end_time: float,
        unit: TimeUnits = TimeUnits.MICROSECONDS,
        event_type: str | None = None,
    ) -> list[ProfilerSystemEvent]:
        """Return the events with ``start_time <= timestamp <= end_time``, in file order.

        Args:
            start_time: Start since 1970, inclusive.
            end_time: End since 1970, inclusive.
            unit: Unit of both times.
            event_type: Only events of this type, such as ``cpu``.
        """
        start_ns, end_ns = (convert_utc_timestamp_to_nanoseconds(time, unit) for time in (start_time, end_time))
        return [
            event
            for event in self._events
            if event_type in (None, event.type) and start_ns <= int(event.timestamp * 1e9) <= end_ns
        ]

    def get_all_events(self) -> list[ProfilerSystemEvent]:
        """Return all events, in file order."""
        return self._events

    def clear_events(self) -> None:
        """Forget all events."""
        self._events = []


__path__: list[str] = []  # submodules and further names come from the table of public names
__getattr__ = lazy_names(__name__)
