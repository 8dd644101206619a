"""Values of a trial for other tools: stacked arrays, tidy tables, labelled arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, TensorUnavailableForStep
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.trials.values.reductions import check_reduction, compute_reduction
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    import pandas as pd
    import xarray

    from sagemaker_debug_ext.trials.protocols import ReadableTensor, ReadableTrial

COLUMNS: Final = ("step", "mode", "mode_step", "worker", "tensor", "reduction", "value")
"""Columns of `trial_to_pandas`."""

_ABSOLUTE: Final = "abs_"

_SMALL_BYTES: Final = 64 << 10
_PORTION_BYTES: Final = 16 << 20
"""Limit of the values in memory at a time while reductions are computed."""


class _Reduction(NamedTuple):
    text: str
    operation: str
    absolute: bool


_Numbers: TypeAlias = dict[tuple[str, int], dict[str, Any]]
"""Tensor and step → requested name of the reduction → number."""


def tensor_to_xarray(tensor: ReadableTensor, mode: ModeKeys, worker: str | None) -> xarray.DataArray:
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
    trial: ReadableTrial, names: Iterable[str], mode: ModeKeys, worker: str | None
) -> dict[str, dict[int, float | complex | bool | str]]:
    """Return the values of tensors with one element: name → step → number; see `Trial.scalars`."""
    found: dict[str, dict[int, float | complex | bool | str]] = {}
    for name, values in trial.values(_small(trial, names), mode, worker).items():
        if values and all(value.size == 1 for value in values.values()):
            found[name] = {step: value.item() for step, value in values.items()}
    return found


def _small(trial: ReadableTrial, names: Iterable[str]) -> list[str]:
    """Return the tensors that may have one element, evaluating by the record sizes in the index."""
    reader = trial.index_reader
    with reader.lock:
        return [name for name in names if reader.index.smallest_value_bytes(name) <= 4096]


def trial_to_pandas(
    trial: ReadableTrial, names: Sequence[str], mode: ModeKeys, reductions: Sequence[str] | None, worker: str | None
) -> pd.DataFrame:
    """Return a table with a row for each number; see `Trial.to_pandas`."""
    pandas = import_optional("pandas", "Trial.to_pandas", "analysis")
    workers = trial.index_reader.workers() if worker is None else [worker]
    rows: list[tuple[Any, ...]] = []
    for writer in workers:
        if reductions is None:
            for name, numbers in scalar_values(trial, names, ModeKeys.GLOBAL, writer).items():
                rows.extend((step, writer, name, None, number) for step, number in numbers.items())
        else:
            rows.extend(_reduction_rows(trial, names, [_parse_reduction(text) for text in reductions], writer))
    places = {step: trial.mode_modestep(step) for step in {row[0] for row in rows}}
    table = [
        (step, place.name, mode_step, writer, name, reduction, value)
        for step, writer, name, reduction, value in sorted(rows, key=lambda row: (row[0], row[1], row[2], row[3] or ""))
        for place, mode_step in [places[step]]
        if place is not None and mode in (ModeKeys.GLOBAL, place)
    ]
    frame: pd.DataFrame = pandas.DataFrame(table, columns=list(COLUMNS))
    return frame


def _parse_reduction(text: str) -> _Reduction:
    operation = text.removeprefix(_ABSOLUTE)
    check_reduction(operation)
    return _Reduction(text, operation, text != operation)


def _reduction_rows(
    trial: ReadableTrial, names: Sequence[str], reductions: Sequence[_Reduction], worker: str
) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each reduction of a worker's tensors; NaN if neither reduction nor value was saved."""
    steps_of = trial.index_reader.steps_by_tensor(names, worker)
    numbers: _Numbers = {(name, step): {} for name, steps in steps_of.items() for step in steps}
    _take_saved(trial, numbers, list(steps_of), reductions, worker)
    lacking = {
        name: [step for step in steps if len(numbers[name, step]) < len(reductions)] for name, steps in steps_of.items()
    }
    _compute_together(trial, numbers, lacking, reductions, worker)
    for (name, step), there in numbers.items():
        if len(there) < len(reductions):
            _reduce_alone(there, trial.tensor(name), step, worker, reductions)
        yield from ((step, worker, name, text, there[text]) for text, _, _ in reductions)


def _take_saved(
    trial: ReadableTrial, numbers: _Numbers, names: Sequence[str], reductions: Sequence[_Reduction], worker: str
) -> None:
    for text, operation, absolute in reductions:
        named = {reduction_tensor_name(operation, absolute, name): name for name in names}
        found = trial.index_reader.read_columns(names, None, ModeKeys.GLOBAL, worker, (operation, absolute))
        for stored, steps, arrays in found:
            for step, array in zip(steps, arrays, strict=True):
                if array is not None and array.size == 1:
                    numbers[named[stored], step][text] = array.item()


def _compute_together(
    trial: ReadableTrial,
    numbers: _Numbers,
    steps_of: Mapping[str, Sequence[int]],
    reductions: Sequence[_Reduction],
    worker: str,
) -> None:
    for portion in _portions(trial, steps_of):
        for name, steps, arrays in trial.index_reader.read_columns(*portion, ModeKeys.GLOBAL, worker):
            for step, array in zip(steps, arrays, strict=True):
                if array is not None:
                    _reduce(numbers[name, step], array, reductions)


def _portions(trial: ReadableTrial, steps_of: Mapping[str, Sequence[int]]) -> Iterator[tuple[list[str], list[int]]]:
    """Yield groups of tensors and steps whose values are small and fit into memory together."""
    reader = trial.index_reader
    with reader.lock:
        sizes = {name: reader.index.smallest_value_bytes(name) for name, steps in steps_of.items() if steps}
    by_steps: dict[tuple[int, ...], list[str]] = {}
    for name, size in sizes.items():
        if size <= _SMALL_BYTES:
            by_steps.setdefault(tuple(steps_of[name]), []).append(name)
    for steps, names in by_steps.items():
        num_steps = max(int(_PORTION_BYTES / sum(sizes[name] for name in names)), 1)
        for start in range(0, len(steps), num_steps):
            yield names, list(steps[start : start + num_steps])


def _reduce(there: dict[str, Any], value: Array | None, reductions: Sequence[_Reduction]) -> None:
    """Add the missing reductions of a value; NaN if the value is None or has no such reduction."""
    for text, operation, absolute in reductions:
        if text not in there:
            try:
                there[text] = math.nan if value is None else compute_reduction(operation, value, absolute).item()
            except (SMDebugTypeError, SMDebugValueError):
                there[text] = math.nan


def _reduce_alone(
    there: dict[str, Any], tensor: ReadableTensor, step: int, worker: str, reductions: Sequence[_Reduction]
) -> None:
    """Add the missing reductions by reading a large or damaged value or reduction alone."""
    saved = tensor.reduction_values(step, worker=worker)
    there.update(
        (text, saved[operation, absolute].item())
        for text, operation, absolute in reductions
        if text not in there and (operation, absolute) in saved
    )
    if len(there) < len(reductions):
        try:
            value = tensor.value(step, worker=worker)
        except TensorUnavailableForStep:
            value = None
        _reduce(there, value, reductions)
