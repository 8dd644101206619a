"""Units of time, and the text form of times in profiler data: UTC, a colon before the microseconds."""

from __future__ import annotations

import datetime as dt
import enum
import math
from typing import Final

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
TEXT_FORMAT: Final = "%Y-%m-%dT%H:%M:%S:%f"


class TimeUnits(enum.Enum):
    """The unit of a time since 1970."""

    SECONDS = 1
    MILLISECONDS = 2
    MICROSECONDS = 3
    NANOSECONDS = 4


_NANOSECONDS: Final = {
    TimeUnits.SECONDS: 1_000_000_000,
    TimeUnits.MILLISECONDS: 1_000_000,
    TimeUnits.MICROSECONDS: 1000,
    TimeUnits.NANOSECONDS: 1,
}


def _convert(timestamp: float, unit: TimeUnits, target: TimeUnits) -> int | float:
    source_ns, target_ns = _NANOSECONDS[unit], _NANOSECONDS[target]
    if source_ns >= target_ns:
        return int(timestamp * (source_ns // target_ns))
    quotient = timestamp / (target_ns // source_ns)
    return quotient if unit is TimeUnits.NANOSECONDS else int(quotient)


def convert_utc_timestamp_to_nanoseconds(timestamp: float, unit: TimeUnits = TimeUnits.MICROSECONDS) -> int | float:
    """Return a time since 1970 in nanoseconds, truncated."""
    return _convert(timestamp, unit, TimeUnits.NANOSECONDS)


def convert_utc_timestamp_to_microseconds(timestamp: float, unit: TimeUnits = TimeUnits.MICROSECONDS) -> int | float:
    """Return a time since 1970 in microseconds, truncated; nanoseconds are divided and give a float."""
    return _convert(timestamp, unit, TimeUnits.MICROSECONDS)


def convert_utc_timestamp_to_seconds(timestamp: float, unit: TimeUnits = TimeUnits.MICROSECONDS) -> int | float:
    """Return a time since 1970 in seconds, truncated; nanoseconds are divided and give a float."""
    return _convert(timestamp, unit, TimeUnits.SECONDS)


def convert_utc_datetime_to_microseconds(timestamp_datetime: dt.datetime) -> int:
    """Return the microseconds since 1970 of a date and time; one without a time zone counts as UTC."""
    aware = timestamp_datetime if timestamp_datetime.tzinfo else timestamp_datetime.replace(tzinfo=dt.timezone.utc)
    return (aware - _EPOCH) // dt.timedelta(microseconds=1)


def convert_utc_datetime_to_nanoseconds(timestamp_datetime: dt.datetime) -> int:
    """Return the nanoseconds since 1970 of a date and time; one without a time zone counts as UTC."""
    return convert_utc_datetime_to_microseconds(timestamp_datetime) * 1000


def us_since_epoch_to_human_readable_time(us_since_epoch: float) -> str:
    """Return ``YYYY-MM-DDTHH:MM:SS:ffffff`` in UTC for microseconds since 1970."""
    return (_EPOCH + dt.timedelta(microseconds=math.floor(us_since_epoch))).strftime(TEXT_FORMAT)


def ns_since_epoch_to_human_readable_time(ns_since_epoch: float) -> str:
    """Return ``YYYY-MM-DDTHH:MM:SS:ffffff`` in UTC for nanoseconds since 1970."""
    return us_since_epoch_to_human_readable_time(ns_since_epoch // 1000)


def parse_time(text: str) -> int:
    """Return the microseconds since 1970 of a time in the format of `us_since_epoch_to_human_readable_time`.

    Raises:
        ValueError: The text has another format.
    """
    return convert_utc_datetime_to_microseconds(dt.datetime.strptime(text, TEXT_FORMAT).replace(tzinfo=dt.timezone.utc))


def hour_folder(seconds: float) -> str:
    """Return ``YYYYMMDDHH`` in UTC, the folder in which files of an hour lie."""
    return (_EPOCH + dt.timedelta(seconds=seconds)).strftime("%Y%m%d%H")
