"""EvaluationOverlap: evaluation beside training uses samples that the model was trained on."""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Sequence
from typing import Final

import attrs
import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.losses import observed_losses
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.samples import MAX_KEPT, sample_hashes
from sagemaker_debug_ext.rules.reading.selection import Selection, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

WEIGHTS: Final = Selection(collections=(CollectionKeys.WEIGHTS,))
MIN_SAMPLES: Final = 32
NEARLY_ALL: Final = 0.9
"""Fraction of the training samples above which they are evaluated on purpose, where new samples are, too."""
FEW: Final = 2
"""Number of distinct batches that proves that there is more than one."""
FOLDS: Final = 3
"""Number of evaluations, each of other samples, that make a cross-validation."""
PUT_BACK: Final = 0.5
"""Fraction of the way that weights have come, or of their size, beyond which no update changes them at once."""
SURE: Final = 1.5
"""Ratio of the fraction that may be known by chance to the expected one."""


@attrs.define
class _Repeats:
    """Counts the pairs of equal samples within batches, which are drawn without replacement."""

    num_equal: int = 0
    num_pairs: int = 0

    def add(self, samples: Sequence[bytes]) -> None:
        """Add a batch."""
        self.num_equal += sum(number * (number - 1) // 2 for number in collections.Counter(samples).values())
        self.num_pairs += len(samples) * (len(samples) - 1) // 2

    def share_known_by_chance(self, num_seen: int) -> float:
        """Return the fraction of new samples that may be among `num_seen` different ones drawn in the same way."""
        usual = (self.num_equal + 2 * math.sqrt(self.num_equal)) / max(self.num_pairs, 1)
        return min(1.0, num_seen * usual)


def is_whole(batch: Array) -> bool:
    """Return whether a batch consists of integers, such as word indices, whose samples may be equal by chance."""
    return batch.dtype.kind in "biu" or (batch.dtype.kind == "f" and bool(np.array_equal(batch, np.trunc(batch))))


def _are_put_back(now: Array, was: Array, first: Array, *, is_next: bool) -> bool:
    """Return whether weights have been given their first values again, or others that have nothing to do with theirs.

    Args:
        now: The weights at a training step.
        was: Those at the training step before it.
        first: Those at the first step.
        is_next: Whether no step lies between both.
    """
    change, way = np.linalg.norm(now - was), np.linalg.norm(was - first)
    is_new = is_next and change > PUT_BACK * max(np.linalg.norm(was), way)
    return bool(is_new or np.linalg.norm(now - first) < PUT_BACK * way)


def _first_pass(batches: Sequence[Sequence[bytes]]) -> Sequence[Sequence[bytes]]:
    """Return the first half of some batches if the second one is the same, as where data are evaluated twice."""
    half = len(batches) // 2
    return batches[:half] if half and batches[:half] == batches[half:] else batches


class EvaluationOverlap(TensorRule):
    """The model is evaluated on samples that it was trained on, while it is trained.

    Checks inputs of the model; axis 0 is the batch. Samples of TRAIN steps are stored as hashes. The rule fires if more
    than `max_share_percent` of the distinct samples of EVAL steps were among them when they were evaluated, once there
    are at least 32. Samples of fewer than four elements are skipped. Augmented samples count as different. What an
    agent sees before it is trained on it does not count, nor what another model was trained on, as in cross-validation,
    even if that is the same one with its first weights.

    An evaluation counts once training goes on after it, because decisions about the training may follow from it. An
    evaluation at the end, as of the error on the training data, does not fire. Neither does one of the batch of the
    training step before or after it, or one of all training data beside new samples, both of which show how training
    proceeds, nor one of all training data before training goes on with others, as after a pretraining. Where three
    evaluations or more are of different samples each, all of which the model has been trained on by the end, one model
    is used for all folds of a cross-validation.

    Samples of integers, such as short sentences, may be equal by chance. A training batch and an evaluation contain
    each sample once, so equal samples within them show how likely that is. If there are any, the rule fires only if the
    percentage beyond the one expected by chance is above the limit.

    If training and evaluation repeat exactly the same batch, it is one whole, such as a graph, of which each uses other
    parts. Such a batch is skipped. So is a trial in which a loss of classes gets labels of a part of a batch only, like
    those of the labelled nodes of a graph.

    Parameters:
        tensor_regex: Regular expressions searched in the names of inputs, as a list or separated by commas. When not
            given: those of the whole model, as the framework names them.
        max_share_percent: Largest percentage of evaluation samples that may be known; 20 when not given.

    Source:
        Data leakage between training and test: Kapoor and Narayanan, Leakage and the Reproducibility Crisis in
        Machine-Learning-Based Science, Patterns 2023.

    Example:
        >>> rule = create_rule("EvaluationOverlap", trial, {"max_share_percent": 0})
        >>> invoke_rule(rule)
    """

    spec_name = "EvaluationOverlap"
    has_per_tensor_state = True
    begins_anew = True
    advice = "Split the data before any other step, and remove samples that occur more than once."

    def configure(self) -> None:
        self.selection = chosen_or(self.parameters["tensor_regex"], Role.MODEL_INPUT)
        self._trained: dict[str, set[bytes]] = collections.defaultdict(set)
        self._evaluated: dict[str, set[bytes]] = collections.defaultdict(set)
        self._known: dict[str, set[bytes]] = collections.defaultdict(set)
        self._repeats: dict[str, _Repeats] = collections.defaultdict(_Repeats)
        self._wholes: dict[str, collections.Counter[tuple[bytes, ...]]] = collections.defaultdict(collections.Counter)
        self._waiting: dict[str, list[Sequence[bytes]]] = collections.defaultdict(list)
        self._have_fractions: set[str] = set()
        self._have_several: set[str] = set()
        self._last_batch: dict[str, set[bytes]] = {}
        self._num_partial: collections.Counter[str] = collections.Counter()
        self._nums_evaluated: dict[str, list[int]] = collections.defaultdict(list)
        self._first_trained: StepView | None = None
        self._last_trained: StepView | None = None

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the percentage of evaluation samples that training has seen."""
        if view.mode not in (ModeKeys.TRAIN, ModeKeys.EVAL):
            return None
        samples = view.statistic(name, sample_hashes)
        if samples is None or self._has_other_labels(view, name, len(samples)):
            return None
        if view.mode is ModeKeys.EVAL:
            is_whole_set = len(self._wholes[name]) == 1 and self._wholes[name][samples] > 1
            if not is_whole_set and not set(samples) <= self._last_batch.get(name, set()):
                self._waiting[name].append(samples)
                if not view.statistic(name, is_whole):
                    self._have_fractions.add(name)
            return None
        found = self._compare(view, name, samples)
        if found is not None and found.fires and self._is_put_back(view):
            self.configure()
            found = None
        self._learn(view, name, samples)
        self._first_trained, self._last_trained = self._first_trained or view, view
        return found

    def _has_other_labels(self, view: StepView, name: str, num_samples: int) -> bool:
        """Return whether training gives labels of a part of the samples only, as of a graph's nodes, at most steps.

        Then evaluation uses labels of others, although the model gets the same samples.
        """
        if view.mode is ModeKeys.TRAIN:
            sizes = [len(loss.targets) for loss in observed_losses(view) if loss.num_classes is not None]
            self._num_partial[name] += 1 if any(1 < size < num_samples for size in sizes) else -1
        return self._num_partial[name] > 0

    def _learn(self, view: StepView, name: str, samples: tuple[bytes, ...]) -> None:
        """Note the samples of a training step."""
        trained = self._trained[name]
        self._last_batch[name] = set(samples)
        if len(trained) < MAX_KEPT:
            trained.update(samples)
        if len(self._wholes[name]) < FEW:
            self._wholes[name][samples] += 1
        if view.statistic(name, is_whole):
            self._repeats[name].add(samples)

    def _compare(self, view: StepView, name: str, following: Sequence[bytes]) -> Measurement | None:
        """Compare the samples of the evaluation that has ended with those of the training steps before it.

        Args:
            view: The training step that follows.
            name: Name of the input.
            following: Samples of that step.
        """
        trained, evaluated, known = self._trained[name], self._evaluated[name], self._known[name]
        batch = set(following)
        waiting = [samples for samples in self._waiting.pop(name, ()) if not batch.issuperset(samples)]
        if not (waiting and trained):
            return None
        covered = len(trained.intersection(itertools.chain.from_iterable(waiting)))
        if trained.isdisjoint(batch) and covered >= NEARLY_ALL * len(trained):  # training goes on with other data
            return None
        partly = [samples for samples in waiting if not trained.isdisjoint(samples)]
        if len(partly) > 1 or not trained.issuperset(itertools.chain.from_iterable(partly)):
            self._have_several.add(name)
        self._nums_evaluated[name].append(len(set(itertools.chain.from_iterable(waiting))))
        for samples in waiting:
            if len(evaluated) < MAX_KEPT:
                evaluated.update(samples)
                known.update(trained.intersection(samples))
        if name not in self._have_fractions:
            self._repeats[name].add(list(itertools.chain.from_iterable(_first_pass(waiting))))
        if len(evaluated) < MIN_SAMPLES:
            return None
        if self._shows_progress(view, name):
            return None
        share = 100 * len(known) / len(evaluated)
        by_chance = min(1.0, SURE * self._repeats[name].share_known_by_chance(len(trained)))
        limit: float = self.parameters["max_share_percent"]
        fires = share > limit + (100 - limit) * by_chance
        return Measurement(share, fires=fires, threshold=limit, severity=share)

    def _shows_progress(self, view: StepView, name: str) -> bool:
        """Return whether training data are evaluated on purpose, beside new samples."""
        num_trained, num_known = len(self._trained[name]), len(self._known[name])
        num_new = len(self._evaluated[name]) - num_known
        is_whole = num_known >= NEARLY_ALL * num_trained
        are_folds = self._are_folds(name) and bool(view.selected(WEIGHTS))
        is_one_batch = name not in self._have_several and not are_folds
        return num_new >= MIN_SAMPLES and (is_whole or is_one_batch)

    def _are_folds(self, name: str) -> bool:
        """Return whether each evaluation is of other samples, and training has used nearly all of them by now."""
        nums, evaluated = self._nums_evaluated[name], self._evaluated[name]
        is_apart = len(nums) >= FOLDS and sum(nums) == len(evaluated)
        return is_apart and len(evaluated - self._trained[name]) < MIN_SAMPLES

    def _is_put_back(self, view: StepView) -> bool:
        """Return whether all weights that change have changed since the last training step by more than an update."""
        before, first = self._last_trained, self._first_trained
        if before is None or first is None:
            return False
        is_next = view.mode_step is not None and view.mode_step - 1 == before.mode_step
        verdicts = []
        for name in view.selected(WEIGHTS):
            now, was, start = (each.value(name) for each in (view, before, first))
            if now is None or was is None or start is None or now.ndim < 2 or not now.shape == was.shape == start.shape:
                continue
            if not np.array_equal(now, was):  # a frozen one tells nothing
                values = (to_float64(value) for value in (now, was, start))
                verdicts.append(_are_put_back(*values, is_next=is_next))
        return bool(verdicts) and all(verdicts)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"Evaluation uses training data in {describe_tensors(names)}: training has seen {first.value:.3g} % of "
            "its samples."
        )
