"""Recorded profiler data, and the form in which the answers of the original readers are recorded."""

from __future__ import annotations

import enum
import math
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sagemaker_debug_ext.profiler.format.system_rows import SystemRow, format_row

ARCHIVE = Path(__file__).parents[1] / "golden" / "profiler" / "profiler.tar.gz"
SAFELY: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def unpack(folder: Path) -> Path:
    """Unpack the recorded data; return the folder that holds the cases."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, **SAFELY)
    return folder / "profiler"


def recorded(value: Any) -> Any:  # noqa: C901 - one branch for each kind of answer
    """Return an answer in the form of the recorded answers."""
    kind = type(value).__name__
    if kind == "DataFrame":
        return _frame(value)
    if kind == "Series":
        return {"type": "Series", "values": [_scalar(item) for item in value]}
    if kind == "JobStats":
        return {"type": "JobStats", "items": {key: recorded(item) for key, item in value.items()}}
    if kind == "cProfileStats":
        names = {function.function_name: function for function in value.function_stats_list}
        by_name = {
            f"{name.rpartition('/')[2]}": [function.prim_calls, function.total_calls]
            for name, function in names.items()
            if name.endswith(("(inner)", "(work)"))
        }
        return {"type": "cProfileStats", "functions": len(names), "by_name": by_name}
    if kind == "PyinstrumentStepStats":
        return {"type": kind, "html": value.html_file_path, "json_keys": sorted(value.json_stats)}
    if kind in ("ProfilerSystemEvent", "TraceEvent"):
        return _event(value)
    if isinstance(value, tuple):
        return {"type": "tuple", "items": [recorded(item) for item in value]}
    if isinstance(value, list) and len(value) > 60 and type(value[0]).__name__ in ("ProfilerSystemEvent", "TraceEvent"):
        return {
            "type": "list",
            "length": len(value),
            "first": [recorded(item) for item in value[:3]],
            "last": [recorded(item) for item in value[-3:]],
        }
    if isinstance(value, list):
        return [recorded(item) for item in value]
    if isinstance(value, dict):
        return {key: recorded(item) for key, item in value.items()}
    return _scalar(value)


def _event(event: Any) -> dict[str, Any]:
    if hasattr(event, "type"):
        names = ("type", "name", "dimension", "value", "node_id", "timestamp")
    else:
        names = (
            "start_time",
            "end_time",
            "duration",
            "event_name",
            "event_phase",
            "phase",
            "pid",
            "tid",
            "node_id",
            "file_type",
            "event_args",
        )
    return {name: getattr(event, name) for name in names}


def _frame(frame: Any) -> dict[str, Any]:
    rows = [[_scalar(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    numeric = [column for column in frame.columns if str(frame[column].dtype)[:3] in ("int", "flo")]
    answer = {
        "type": "DataFrame",
        "shape": list(frame.shape),
        "columns": [recorded(column) for column in frame.columns],
        "index_first": [_scalar(label) for label in frame.index[:3]],
        "sums": {column: _scalar(frame[column].sum()) for column in numeric if isinstance(column, str)},
    }
    if len(rows) <= 60:
        answer["rows"] = rows
    else:
        answer["first_rows"], answer["last_rows"] = rows[:5], rows[-5:]
    return answer


def _scalar(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat() if value == value else "NaN"
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return str(value) if isinstance(value, enum.Enum) else value


def differences(ours: Any, theirs: Any, place: str = "") -> list[str]:
    """Return where two recorded answers differ; thread ids that depend on the process are not compared."""
    if theirs == "<hash>":
        return []
    if isinstance(theirs, dict) and isinstance(ours, dict):
        ignored = {"dtypes", "counts", "dtype"}
        keys = (set(theirs) - ignored) | (set(ours) - ignored)
        sums = place.endswith("/sums")
        return [
            found
            for key in sorted(keys, key=str)
            if not (sums and (key == "tid" or key not in theirs or key not in ours))
            for found in differences(ours.get(key), theirs.get(key), f"{place}/{key}")
        ]
    if isinstance(theirs, list) and isinstance(ours, list):
        if len(theirs) != len(ours):
            return [f"{place}: {len(ours)} items, recorded are {len(theirs)}"]
        return [
            found
            for at, (mine, recorded_one) in enumerate(zip(ours, theirs, strict=True))
            for found in differences(mine, recorded_one, f"{place}/{at}")
        ]
    if isinstance(theirs, (int, float)) and isinstance(ours, (int, float)):
        return [] if math.isclose(ours, theirs, rel_tol=1e-9) else [f"{place}: {ours!r}, recorded is {theirs!r}"]
    return (
        [] if ours == theirs or (ours is None and theirs == "NaN") else [f"{place}: {ours!r}, recorded is {theirs!r}"]
    )


def format_rows(rows: Iterable[SystemRow]) -> bytes:
    """Return a file of system metrics."""
    return "".join(map(format_row, rows)).encode()
