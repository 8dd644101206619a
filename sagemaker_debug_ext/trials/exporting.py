"""Values of a trial for other tools: stacked arrays, tidy tables, labelled arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sagemaker_debug_ext._optional import import_optional
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, TensorUnavailableForStep
from sagemaker_debug_ext.store.messages import Array
from sagemaker_debug_ext.trials.computing import check_reduction
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    import pandas as pd
    import xarray

    from sagemaker_debug_ext.trials.tensors import Tensor
    from sagemaker_debug_ext.trials.trial import Trial

COLUMNS: Final = ("step", "mode", "mode_step", "worker", "tensor", "reduction", "value")
"""Columns of `trial_to_pandas`."""

_ABSOLUTE: Final = "abs_"


def stack_values(name: str, values: Mapping[int, Array]) -> Array:
    """Return the values of a tensor as one read-only array, whose first axis is that of the steps.

    Raises:
        SMDebugValueError: There are none, or shape or dtype are not the same at all steps.
    """
    if not values:
        raise SMDebugValueError(f"tensor {name!r} has no values at the steps asked for")
    first_step, first = next(iter(values.items()))
    for step, value in values.items():
        same_dtype = value.dtype == first.dtype or (value.dtype.kind in "UO" and first.dtype.kind in "UO")
        if value.shape != first.shape or not same_dtype:
            raise SMDebugValueError(
                f"values of tensor {name!r} must be alike to be stacked (step {first_step}: {first.dtype}"
                f" {first.shape}, step {step}: {value.dtype} {value.shape}): use values()"
            )
    stacked: Array = np.stack(list(values.values()))
    stacked.flags.writeable = False
    return stacked


def tensor_to_xarray(tensor: Tensor, mode: ModeKeys, worker: str | None) -> xarray.DataArray:
    """Return the values of a tensor as a labelled array; see `Tensor.to_xarray`."""
    labelled_arrays = import_optional("xarray", "Tensor.to_xarray", "analysis")
    steps = tensor.steps(mode)
    stacked = tensor.stack(mode, worker, steps)
    coordinates: dict[str, Any] = {"step": steps}
    if mode is not ModeKeys.GLOBAL:
        coordinates["global_step"] = ("step", [tensor.trial.global_step(mode, step) for step in steps])
    dimensions = ("step", *(f"dim_{axis}" for axis in range(stacked.ndim - 1)))
    attributes = {"trial": tensor.trial.name, "mode": mode.name, "worker": worker or "the first that saved it"}
    labelled: xarray.DataArray = labelled_arrays.DataArray(stacked, coordinates, dimensions, tensor.name, attributes)
    return labelled


def scalar_values(
    trial: Trial, names: Iterable[str], mode: ModeKeys, worker: str | None
) -> dict[str, dict[int, float | complex | bool | str]]:
    """Return the tensors of one element: name → step → number; see `Trial.scalars`."""
    found: dict[str, dict[int, float | complex | bool | str]] = {}
    for name, values in trial.values(_small(trial, names), mode, worker).items():
        if values and all(value.size == 1 for value in values.values()):
            found[name] = {step: value.item() for step, value in values.items()}
    return found


def _small(trial: Trial, names: Iterable[str]) -> list[str]:
    """Return the tensors that, by what the index says of their size, may have one element."""
    reader = trial.index_reader
    with reader.lock:
        return [name for name in names if reader.index.smallest_value_bytes(name) <= 4096]


def trial_to_pandas(
    trial: Trial, names: Sequence[str], mode: ModeKeys, reductions: Sequence[str] | None, worker: str | None
) -> pd.DataFrame:
    """Return a table with a row for each number; see `Trial.to_pandas`."""
    pandas = import_optional("pandas", "Trial.to_pandas", "analysis")
    workers = trial.index_reader.workers() if worker is None else [worker]
    rows: list[tuple[Any, ...]] = []
    for each in workers:
        if reductions is None:
            for name, numbers in scalar_values(trial, names, ModeKeys.GLOBAL, each).items():
                rows.extend((step, each, name, None, number) for step, number in numbers.items())
        else:
            rows.extend(_reduction_rows(trial, names, [_parse_reduction(text) for text in reductions], each))
    places = {step: trial.mode_modestep(step) for step in {row[0] for row in rows}}
    table = [
        (step, place.name, mode_step, each, name, reduction, value)
        for step, each, name, reduction, value in sorted(rows, key=lambda row: (row[0], row[1], row[2], row[3] or ""))
        for place, mode_step in [places[step]]
        if place is not None and mode in (ModeKeys.GLOBAL, place)
    ]
    frame: pd.DataFrame = pandas.DataFrame(table, columns=list(COLUMNS))
    return frame


def _parse_reduction(text: str) -> tuple[str, str, bool]:
    operation = text.removeprefix(_ABSOLUTE)
    check_reduction(operation)
    return text, operation, text != operation


def _reduction_rows(
    trial: Trial, names: Iterable[str], reductions: Sequence[tuple[str, str, bool]], worker: str
) -> Iterable[tuple[Any, ...]]:
    for name in names:
        tensor = trial.tensor(name)
        for step in tensor.steps():
            if worker not in tensor.workers(step):
                continue
            for text, operation, absolute in reductions:
                value = _reduction_or_nan(tensor, step, operation, worker, absolute)
                yield step, worker, name, text, value


def _reduction_or_nan(tensor: Tensor, step: int, operation: str, worker: str, absolute: bool) -> Any:
    """Return a reduction as a number; NaN where neither it nor the value was saved, or the value has none."""
    try:
        value = tensor.reduction_value(step, operation, worker=worker, abs=absolute)
    except (TensorUnavailableForStep, SMDebugTypeError, SMDebugValueError):
        return math.nan
    return value.item()
