"""DuplicateBatches: training sees the same batch again and again."""

from __future__ import annotations

import collections
import hashlib
import statistics
from collections.abc import Sequence

from sagemaker_debug_ext.errors import TensorUnavailableForStep
from sagemaker_debug_ext.rules.builtin.base import Reading, TensorRule, naming
from sagemaker_debug_ext.rules.builtin.samples import row_digests
from sagemaker_debug_ext.rules.builtin.watching import Streaks, is_training
from sagemaker_debug_ext.rules.roles import Role
from sagemaker_debug_ext.rules.selection import chosen_or
from sagemaker_debug_ext.rules.step import Array, StepView


def digest(value: Array) -> bytes:
    """Return a hash of shape, type and elements."""
    found = hashlib.blake2b(f"{value.dtype} {value.shape}".encode(), digest_size=16)
    found.update(value.tobytes())
    return found.digest()


def is_of_one_sample(batch: Array) -> bool:
    """Tell whether a batch has the same sample again and again."""
    samples = row_digests(batch)
    return samples is not None and len(samples) > 1 and len(set(samples)) == 1


class DuplicateBatches(TensorRule):
    """Training sees few different batches, the same again and again.

    Looks at inputs of the model at TRAIN steps (all steps that have no mode). From `window` saved steps that follow
    each other without a gap on, the rule fires if no more than `max_share_percent` of the latest `window` batches are
    different ones, or of the samples in them; and if all of them were the same for another worker. Training on all data
    at once fires: leave the rule out.

    Parameters:
        tensor_regex: Regular expressions searched in the names of inputs, as a list or separated by commas. When not
            given: those of the whole model, as the framework names them.
        window: How many batches are looked at; 10 when not given.
        max_share_percent: Largest percentage of different ones that is too few; 30 when not given.

    Source:
        Data loaders whose workers repeat each other, and iterators that are made anew at each step, as in the faults
        collected by Humbatova and others, Taxonomy of Real Faults in Deep Learning Systems, ICSE 2020.

    Example:
        >>> rule = create_rule("DuplicateBatches", trial, {"tensor_regex": "embedding_input_0"})
        >>> invoke_rule(rule)
    """

    spec_name = "DuplicateBatches"
    judges_tensors_alone = True
    advice = "Check that the iterator over the data is made once an epoch, that it shuffles, and that its seed changes."

    def configure(self) -> None:
        """Choose the tensors."""
        self.selection = chosen_or(self.parameters["tensor_regex"], Role.MODEL_INPUT)
        self._seen: dict[str, collections.deque[bytes]] = {}
        self._last: dict[str, int] = {}
        self._samples: dict[str, collections.deque[float]] = {}
        self._shared = Streaks()

    def measure(self, view: StepView, name: str) -> Reading | None:
        """Return the percentage of different batches, or samples."""
        found = view.statistic(name, digest) if is_training(view) else None
        step = view.mode_step
        if found is None or step is None:
            return None
        window: int = self.parameters["window"]
        seen = self._seen.setdefault(name, collections.deque(maxlen=window))
        if self._last.get(name, step - 1) != step - 1:
            seen.clear()  # with gaps, a loader that does not shuffle shows the same batch for no fault of its own
            self._samples.pop(name, None)
        self._last[name] = step
        seen.append(found)
        samples = self._samples.setdefault(name, collections.deque(maxlen=window))
        samples.append(_share_of_samples(view, name))
        shared = self._shared.observe(name, _another_worker_has(view, name, found))
        if len(seen) < window:
            return None
        limit: float = self.parameters["max_share_percent"]
        of_batches, of_samples = 100.0 * len(set(seen)) / window, statistics.fmean(samples)
        if shared >= window:
            return Reading(0, fires=True, threshold=limit, text=f"in {shared} steps another worker had the same batch")
        share, kind = min((of_batches, "batches"), (of_samples, "samples in a batch"))
        text = f"{share:.3g} % of the {kind} of the first are different"
        if len(set(seen)) == 1 and view.statistic(name, is_of_one_sample):
            text = "in the first all samples are equal"
        return Reading(share, fires=share <= limit, threshold=limit, severity=-share, text=text)

    def describe(self, names: Sequence[str], first: Reading) -> str:
        """Say how few batches differ."""
        return f"Training sees the same data again and again in {naming(names)}: {first.text}."


def _share_of_samples(view: StepView, name: str) -> float:
    """Return the percentage of samples of a batch that are different ones; 100 if they cannot be told apart."""
    samples = view.statistic(name, row_digests)
    return 100.0 if samples is None else 100.0 * len(set(samples)) / len(samples)


def _another_worker_has(view: StepView, name: str, found: bytes) -> bool:
    """Tell whether another worker saved the same batch."""
    tensor = view.trial.tensor(name)
    workers = tensor.workers(view.step)
    try:
        return any(digest(tensor.value(view.step, worker=worker)) == found for worker in workers[1:])
    except TensorUnavailableForStep:  # one saved reductions only
        return False
