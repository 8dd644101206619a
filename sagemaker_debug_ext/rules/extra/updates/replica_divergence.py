"""ReplicaDivergence: the weights of workers that should be equal differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from sagemaker_debug_ext.errors import TensorUnavailableForStep
from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array, norm, to_float64
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.vocabulary import CollectionKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials.tensors import Tensor


def distance(first: Array, other: Array) -> float:
    """Return the distance of two replicas, relative to the norm of the first; infinite if the shapes differ."""
    if first.shape != other.shape:
        return float("inf")
    return norm(to_float64(first) - to_float64(other)) / (norm(first) + 1e-12)


def _value(tensor: Tensor, step: int, worker: str) -> Array | None:
    """Return a worker's value, or None if only reductions were saved."""
    try:
        return tensor.value(step, worker=worker)
    except TensorUnavailableForStep:
        return None


class ReplicaDivergence(TensorRule):
    """Workers that train the same model have different weights.

    Checks tensors that several workers saved, at every saved step of every mode. The rule fires if the distance of any
    worker's weight from the first worker's is above `threshold` of its norm. Do not use the rule if each worker holds a
    part of the model.

    Parameters:
        tensor_regex: Regular expressions searched in names of parameters, as a list or separated by commas. When not
            given: the collection ``weights``.
        threshold: Largest distance between two replicas, relative to the norm; 0.001 when not given.

    Source:
        Replicas start equal and get equal updates, as the documentation of PyTorch's DistributedDataParallel lays down.

    Example:
        >>> rule = create_rule("ReplicaDivergence", trial, {"threshold": 0})
        >>> invoke_rule(rule)
    """

    spec_name = "ReplicaDivergence"
    is_stateless = True
    advice = (
        "Wrap the model so that gradients are averaged over the workers, start all workers from the same "
        "weights, and change weights only through the optimizer."
    )

    def configure(self) -> None:
        self.selection = chosen_or(self.parameters["tensor_regex"], collections=(CollectionKeys.WEIGHTS,))

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (TensorRequirement("weights", self.selection),)

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the largest distance of a worker from the first."""
        workers = view.workers(name)
        first = view.value(name) if len(workers) > 1 else None
        if first is None:
            return None
        tensor = view.trial.tensor(name)
        others = ((worker, _value(tensor, view.step, worker)) for worker in workers[1:])
        apart = {worker: distance(first, value) for worker, value in others if value is not None}
        if not apart:
            return None
        worst = max(apart, key=lambda worker: apart[worker])
        limit: float = self.parameters["threshold"]
        return Measurement(apart[worst], fires=apart[worst] > limit, threshold=limit, severity=apart[worst], text=worst)

    def issues_of(self, view: StepView, measurements: Mapping[str, Measurement]) -> list[Issue]:
        """Return the issue, whose worker is the one that is furthest from the first."""
        return [
            attrs.evolve(issue, worker=measurements[issue.tensors[0]].text)
            for issue in super().issues_of(view, measurements)
        ]

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        if first.value == math.inf:
            return f"{first.text} has weights of another shape than the first worker in {describe_tensors(names)}."
        percent, limit = 100 * (first.value or 0), 100 * (first.threshold or 0)
        return (
            f"The weights of {first.text} differ from those of the first worker by {percent:.3g} % of their norm in "
            f"{describe_tensors(names)} (at most {limit:.3g} % allowed)."
        )
