"""The data for predictions of an XGBoost hook: matrices, or files from which they are created."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
import xgboost as xgb

from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, did_you_mean

_FORMATS: Final = {
    "csv": "csv",
    "text/csv": "csv",
    "libsvm": "libsvm",
    "text/libsvm": "libsvm",
    "text/x-libsvm": "libsvm",
}
"""Names of formats, including content types of SageMaker channels."""


def as_matrix(data: object, name: str) -> Any:
    """Convert the data of a script to an XGBoost matrix; None stays None.

    Args:
        data: An `xgboost.DMatrix`, or a local file and its format, ``csv`` or ``libsvm``.
        name: Name of the data in messages.

    Raises:
        SMDebugTypeError: The data are neither.
        SMDebugValueError: There is no such file or format, or the file holds values that are not numbers.
    """
    if data is None or isinstance(data, xgb.DMatrix):
        return data
    if not isinstance(data, (tuple, list)) or len(data) != 2 or not isinstance(data[0], (str, os.PathLike)):
        raise SMDebugTypeError(
            f"{name} must be an xgboost.DMatrix or a file and its format, such as ('train.csv', 'csv') "
            f"(got a {type(data).__name__}); convert arrays with xgboost.DMatrix(features, label=labels)"
        )
    path, content_type = Path(data[0]).expanduser(), str(data[1])
    kind = _FORMATS.get(content_type.lower())
    if kind is None:
        hint = did_you_mean(content_type, _FORMATS)
        raise SMDebugValueError(f"format of {name} must be one of {', '.join(_FORMATS)} (got {content_type!r}){hint}")
    if not path.is_file():
        raise SMDebugValueError(f"{name} must name a file of this machine (got {str(data[0])!r})")
    return _read_csv(path) if kind == "csv" else _read_libsvm(path)


def _read_csv(path: Path) -> Any:
    """Read lines of numbers with the label first; empty fields are missing values."""
    with path.open(newline="", encoding="utf-8") as file:
        beginning = file.readline()
        file.seek(0)
        delimiter = max(",;\t ", key=beginning.count)
        rows = [
            _numbers(fields, f"{path}:{line}") for line, fields in enumerate(csv.reader(file, delimiter=delimiter), 1)
        ]
    rows = [row for row in rows if row]
    widths = {len(row) for row in rows}
    if len(widths) != 1 or min(widths) < 2:
        raise SMDebugValueError(f"{path}: lines must all have a label and equally many values (got {sorted(widths)})")
    table = np.array(rows)
    return xgb.DMatrix(table[:, 1:], label=table[:, 0])


def _numbers(fields: list[str], where: str) -> list[float]:
    return [_number(field, where, "label" if column == 0 else "value") for column, field in enumerate(fields)]


def _number(field: str, where: str, what: str) -> float:
    if not field.strip() and what == "value":
        return math.nan
    try:
        return float(field)
    except ValueError:
        _refuse(where, f"a {what} must be a number", field)


def _read_libsvm(path: Path) -> Any:
    """Read lines of a label, with an optional ``:weight``, and of ``index:value`` pairs; indices start at 0."""
    from scipy import sparse  # noqa: PLC0415 - XGBoost brings it, and nothing else here needs it

    labels, weights, queries, starts = [], [], [], [0]
    columns: list[int] = []
    values: list[float] = []
    for where, fields in _fields(path):
        label, _, weight = fields[0].partition(":")
        labels.append(_number(label, where, "label"))
        weights.append(_number(weight or "1", where, "weight"))
        for field in fields[1:]:
            index, colon, value = field.partition(":")
            if index == "qid" and colon:
                queries.append(int(_number(value, where, "query")))
            elif colon and index.isdecimal():
                columns.append(int(index))
                values.append(_number(value, where, "value"))
            else:
                _refuse(where, "a value must be written as index:value", field)
        starts.append(len(columns))
    if not labels:
        raise SMDebugValueError(f"{path}: must hold at least one line")
    width = max(columns, default=-1) + 1
    matrix = sparse.csr_matrix((values, columns, starts), shape=(len(labels), width), dtype=np.float32)
    details: dict[str, Any] = {"qid": queries} if queries else {"weight": weights if set(weights) != {1.0} else None}
    return xgb.DMatrix(matrix, label=labels, **details)


def _fields(path: Path) -> Iterator[tuple[str, list[str]]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fields = line.partition("#")[0].split()
            if fields:
                yield f"{path}:{number}", fields


def _refuse(where: str, rule: str, given: str) -> NoReturn:
    raise SMDebugValueError(f"{where}: {rule} (got {given!r})")
