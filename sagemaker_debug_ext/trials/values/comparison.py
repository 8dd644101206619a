"""Compare two trials: the tensors and steps that only one has, and the values that differ."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING

import attrs
import numpy as np

from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials.protocols import ReadableTrial


@attrs.frozen
class Difference:
    """A pair of values that differ.

    Args:
        tensor: Name of the tensor.
        step: The step, counted in the compared mode.
        worker: The worker.
        reason: Description of the difference.
        max_difference: Largest absolute difference of two elements; None if shapes or kinds of dtype differ.
    """

    tensor: str
    step: int
    worker: str
    reason: str
    max_difference: float | None = None

    def __str__(self) -> str:
        return f"{self.tensor} at step {self.step} of {self.worker}: {self.reason}"


@attrs.frozen
class Comparison:
    """Result of a comparison of two trials.

    Args:
        only_here: Tensors that only the first trial has.
        only_there: Tensors that only the second trial has.
        steps_only_here: Steps that only the first trial has.
        steps_only_there: Steps that only the second trial has.
        differences: Values that differ, by tensor, step and worker.
        num_compared: Number of pairs of values that were compared.
    """

    only_here: tuple[str, ...]
    only_there: tuple[str, ...]
    steps_only_here: tuple[int, ...]
    steps_only_there: tuple[int, ...]
    differences: tuple[Difference, ...]
    num_compared: int

    @property
    def is_same(self) -> bool:
        """Whether both trials have the same tensors and steps, and no values differ."""
        lists = (self.only_here, self.only_there, self.steps_only_here, self.steps_only_there, self.differences)
        return not any(lists)

    def __str__(self) -> str:
        lines = [f"{self.num_compared} values compared, {len(self.differences)} differ"]
        for label, items in (
            ("tensors only here", self.only_here),
            ("tensors only there", self.only_there),
            ("steps only here", self.steps_only_here),
            ("steps only there", self.steps_only_there),
            ("first differences", self.differences[:10]),
        ):
            if items:
                lines.append(f"{label}: {', '.join(map(str, items))}")
        return "\n".join(lines)


def compare_trials(
    here: ReadableTrial,
    there: ReadableTrial,
    regex: str | Iterable[str] | None,
    mode: ModeKeys,
    rtol: float,
    atol: float,
) -> Comparison:
    """Compare two trials; see `Trial.compare`."""
    names, other_names = (set(trial.tensor_names(mode=mode, regex=regex)) for trial in (here, there))
    steps, other_steps = (set(trial.steps(mode)) for trial in (here, there))
    both = sorted(names & other_names)
    common_steps = sorted(steps & other_steps)
    differences: list[Difference] = []
    num_compared = 0
    workers = sorted({*here.index_reader.workers(), *there.index_reader.workers()})
    for worker in workers:
        left, right = (trial.values(both, mode, worker, common_steps) for trial in (here, there))
        for name in both:
            for step in sorted(left[name].keys() | right[name].keys()):
                pair = left[name].get(step), right[name].get(step)
                num_compared += 1
                found = _difference(*pair, rtol, atol)
                if found is not None:
                    differences.append(Difference(name, step, worker, *found))
    return Comparison(
        tuple(sorted(names - other_names)),
        tuple(sorted(other_names - names)),
        tuple(sorted(steps - other_steps)),
        tuple(sorted(other_steps - steps)),
        tuple(sorted(differences, key=operator.attrgetter("tensor", "step", "worker"))),
        num_compared,
    )


def _difference(here: Array | None, there: Array | None, rtol: float, atol: float) -> tuple[str, float | None] | None:
    """Return the reason and the largest difference; None if the values are equal."""
    if here is None or there is None:
        return f"only saved {'here' if there is None else 'there'}", None
    are_texts = here.dtype.kind in "UO" and there.dtype.kind in "UO"
    if here.shape != there.shape or (here.dtype.kind != there.dtype.kind and not are_texts):
        return f"{here.dtype} {here.shape} here, {there.dtype} {there.shape} there", None
    if are_texts or here.dtype.kind == "V":
        same = np.array_equal(here, there) if are_texts else here.tobytes() == there.tobytes()
        return None if same else ("values differ", None)
    if np.array_equal(here, there) or np.allclose(here, there, rtol, atol, equal_nan=here.dtype.kind in "fc"):
        return None
    kind = np.complex128 if here.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        largest = float(np.nanmax(np.abs(here.astype(kind) - there.astype(kind)), initial=0.0))
    return f"differs by up to {largest:.6g}", largest
