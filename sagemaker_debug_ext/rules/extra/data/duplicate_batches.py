"""DuplicateBatches: training repeats the same few batches."""

from __future__ import annotations

import collections
import hashlib
import statistics
from collections.abc import Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.errors import TensorUnavailableForStep
from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.training import RUNNING_BATCH, StreakCounter, is_training
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.samples import MAX_KEPT, sample_hashes
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role
from sagemaker_debug_ext.store.format.program import NO_PROGRAM
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

FEWEST_PAIRS: Final = 4
"""Number of batches that equal the one before, beyond chance."""
FEWEST_KINDS: Final = 3
"""Number of distinct batches below which pairs of equal ones say nothing of who drew them."""
SAME_NUMBERS: Final = "as from loading processes that draw the same random numbers"
"""Message part on batches that come in pairs."""
WEIGHTS: Final = Selection(collections=(CollectionKeys.WEIGHTS,))
MOST_KINDS: Final = 10
"""Most distinct samples of a sampler that has a weight for each class in place of each sample."""
MANY_MORE: Final = 10
"""How many times as many distinct samples evaluation must have for those of training to be too few."""
MAY_BE_ALL: Final = 200
"""Number of samples from which on a batch may be the whole data set."""


def digest(value: Array) -> bytes:
    """Return a hash of the shape, the dtype and the elements."""
    found = hashlib.blake2b(f"{value.dtype} {value.shape}".encode(), digest_size=16)
    found.update(value.tobytes())
    return found.digest()


def num_samples(batch: Array) -> int:
    """Return the length of the batch axis, which is the first."""
    return len(batch) if batch.ndim else 1


def is_of_one_sample(batch: Array) -> bool:
    """Return whether all samples of a batch are the same."""
    samples = sample_hashes(batch)
    return samples is not None and len(samples) > 1 and len(set(samples)) == 1


def share_of_samples(batches: Sequence[Sequence[bytes] | None], may_be_all: bool = True) -> float:
    """Return the mean percentage of distinct samples in a batch; 100 if only few distinct samples are possible.

    Args:
        batches: A hash of each sample of each batch; None if samples cannot be distinguished.
        may_be_all: Whether the distinct samples may be all that there are.
    """
    known = [batch for batch in batches if batch]
    if len(known) < len(batches):
        return 100.0
    kinds = [set(batch) for batch in known]
    numbers = [len(kind) for kind in kinds]
    has_few_kinds = len(set().union(*kinds)) <= 2 * max(numbers)
    if has_few_kinds and may_be_all and max(numbers) > 1:
        return 100.0
    return statistics.fmean(100.0 * number / len(batch) for number, batch in zip(numbers, known, strict=True))


def has_updated(view: StepView) -> bool:
    """Return whether an update lies between a step and the one before; True if no weights show it."""
    before = view.trial.global_step(view.mode, view.mode_step - 1) if view.mode_step else None
    if before is None:
        return False
    for name in view.selected(WEIGHTS):
        value, earlier = view.value(name), view.earlier_value(name, before)
        if value is not None and earlier is not None:
            return not np.array_equal(value, earlier)
    return True


class DuplicateBatches(TensorRule):
    """Training repeats the same few batches.

    Checks inputs of the model at TRAIN steps (or steps without a mode), once `window` saved steps without a gap have
    been seen. The rule fires if at most `max_share_percent` of the latest `window` batches, or of the samples in them,
    are distinct. It also fires if all these batches equal those of another worker.

    Processes that load samples and draw the same random numbers give the same batch one after the other. If the program
    record shows that there are several, four such pairs among the latest batches fire. An update must lie between the
    batches of a pair, because some scripts use each batch several times.

    Samples with few possible values, such as the positions on a board, repeat in each batch. Such samples count only if
    all samples of a batch are equal, or if the batches together have more than twice as many distinct samples. With
    `unless_all`, they also count if training never had more than ten distinct samples and evaluation has had more than
    ten times as many, as where a sampler has a weight for each class in place of each sample. A repeated batch of 200
    samples or more does not fire, because it may be the whole data set, unless its index shows that an epoch has more
    batches than are distinct. Neither do several batches that are exactly those of an epoch, by their index. Training
    on smaller data in one batch, or on copies of a few samples, fires: exclude the rule.

    Parameters:
        tensor_regex: Regular expressions searched in the names of inputs, as a list or separated by commas. When not
            given: those of the whole model, as the framework names them.
        window: Number of batches to check; 10 when not given.
        max_share_percent: Percentage of distinct batches or samples at or below which the rule fires; 30 when not
            given.
        unless_all: Whether evaluation tells if few batches may be the whole data set. Repeated batches then count only
            if it had more distinct samples than they have, and few samples if it had many more; False when not given.

    Source:
        Data loaders whose workers repeat each other, and iterators that are made anew at each step, as in the faults
        collected by Humbatova and others, Taxonomy of Real Faults in Deep Learning Systems, ICSE 2020.

    Example:
        >>> rule = create_rule("DuplicateBatches", trial, {"tensor_regex": "embedding_input_0"})
        >>> invoke_rule(rule)
    """

    spec_name = "DuplicateBatches"
    has_per_tensor_state = True
    advice = (
        "Create the data iterator once per epoch, shuffle the data, and check that the seed changes from "
        "epoch to epoch and from worker to worker."
    )

    def configure(self) -> None:
        self.selection = chosen_or(self.parameters["tensor_regex"], Role.MODEL_INPUT)
        self._seen: dict[str, collections.deque[bytes]] = {}
        self._last: dict[str, int] = {}
        self._samples: dict[str, collections.deque[Sequence[bytes] | None]] = {}
        self._shared = StreakCounter()
        self._of_evaluation: dict[str, set[bytes]] = collections.defaultdict(set)
        self._of_training: dict[str, set[bytes]] = collections.defaultdict(set)
        self._has_loaders = ((self.base_trial.program or NO_PROGRAM).num_workers or 0) > 1
        self._is_pair: dict[str, collections.deque[bool]] = {}
        self._longest_epoch = 0

    def needs(self) -> tuple[TensorRequirement, ...]:
        return *super().needs(), TensorRequirement("weights", WEIGHTS, is_required=False)

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the percentage of different batches, or samples."""
        self._note_samples(view, name)
        found = view.statistic(name, digest) if is_training(view) else None
        step = view.mode_step
        if found is None or step is None:
            return None
        window: int = self.parameters["window"]
        seen = self._seen.setdefault(name, collections.deque(maxlen=window))
        if self._last.get(name, step - 1) != step - 1:
            seen.clear()  # gaps may make a loader without shuffling repeat the same saved batch
            self._samples.pop(name, None)
            self._is_pair.pop(name, None)
        self._last[name] = step
        pairs = self._is_pair.setdefault(name, collections.deque(maxlen=window))
        pairs.append(self._has_loaders and bool(seen) and seen[-1] == found and has_updated(view))
        seen.append(found)
        samples = self._samples.setdefault(name, collections.deque(maxlen=window))
        samples.append(view.statistic(name, sample_hashes))
        shared = self._shared.observe(name, _another_worker_has(view, name, found))
        self._note_epoch(view)
        if len(seen) < window:
            return None
        limit: float = self.parameters["max_share_percent"]
        of_batches = 100.0 * len(set(seen)) / window
        of_samples = share_of_samples(list(samples), may_be_all=not self._has_too_few(name))
        if self._longest_epoch <= (kinds := len(set(seen))) and (
            (view.statistic(name, num_samples) or 0) >= MAY_BE_ALL
            or self._may_be_all(name)
            or 1 < kinds == self._longest_epoch
        ):
            of_batches = 100.0
        if shared >= window:
            return Measurement(
                0, fires=True, threshold=limit, text=f"another worker had the same batch in {shared} steps"
            )
        if sum(pairs) >= FEWEST_PAIRS and len(set(seen)) >= FEWEST_KINDS:
            text = f"{sum(pairs)} of {window} batches equal the one before, {SAME_NUMBERS}"
            return Measurement(100.0 * len(set(seen)) / window, fires=True, threshold=limit, text=text)
        share, kind = min((of_batches, "batches"), (of_samples, "samples in a batch"))
        text = f"only {share:.3g} % of the {kind} of the first are different (more than {limit:g} % expected)"
        is_always_one = len(self._of_training[name]) <= 1
        if len(set(seen)) == 1 and is_always_one and view.statistic(name, is_of_one_sample):
            text = "in the first, all samples are equal"
        return Measurement(share, fires=share <= limit, threshold=limit, severity=-share, text=text)

    def _note_samples(self, view: StepView, name: str) -> None:
        """Note the distinct samples of evaluation, and those of training as long as they are few."""
        if view.mode is ModeKeys.EVAL and self.parameters["unless_all"]:
            kept, most = self._of_evaluation[name], MAX_KEPT
        elif is_training(view):
            kept, most = self._of_training[name], MOST_KINDS + 1
        else:
            return
        digests = view.statistic(name, sample_hashes) if len(kept) < most else None
        kept.update(digests or ())

    def _note_epoch(self, view: StepView) -> None:
        """Note how many batches an epoch has had, by the index of the batch in Keras."""
        index = view.scalar(RUNNING_BATCH) if RUNNING_BATCH in view.tensor_names else None
        if index is not None:
            self._longest_epoch = max(self._longest_epoch, int(index) + 1)

    def _may_be_all(self, name: str) -> bool:
        """Return whether the latest batches may be the whole data set, evaluating by evaluation."""
        known = [batch for batch in self._samples[name] if batch]
        return self.parameters["unless_all"] and len(self._of_evaluation[name]) <= len(set().union(*known))

    def _has_too_few(self, name: str) -> bool:
        """Return whether training has only ever had a few samples, and evaluation many more."""
        num_trained = len(self._of_training[name])
        return num_trained <= MOST_KINDS and len(self._of_evaluation[name]) > MANY_MORE * num_trained

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return f"Training data repeat in {describe_tensors(names)}: {first.text}."


def _another_worker_has(view: StepView, name: str, found: bytes) -> bool:
    """Return whether another worker saved the same batch."""
    tensor = view.trial.tensor(name)
    try:
        return any(digest(tensor.value(view.step, worker=worker)) == found for worker in view.workers(name)[1:])
    except TensorUnavailableForStep:  # this worker saved only reductions
        return False
