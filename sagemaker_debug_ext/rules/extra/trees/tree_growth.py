"""TreeGrowth: boosted trees that cannot learn, or whose validation data differ from the training data."""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

import attrs
import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.vocabulary import ModeKeys

NODES: Final = Selection(patterns=("^trees/(Node|Split|Gain|Cover)$",))
LOSSES: Final = Selection(patterns=("^(train|validation)-(rmse|m?logloss)$",))
LARGEST_WEIGHT: Final = {"rmse": 1.0, "logloss": 0.25, "mlogloss": 0.5}
"""Largest contribution of one row to the cover of a node, by the metric that belongs to an objective."""
MIN_COVER: Final = 0.1
"""Cover of a root below which predictions are too certain for the cover to reveal the number of rows."""
ROWS_TO_A_LEAF: Final = 20
"""Number of rows per leaf below which trees may memorize samples."""
MIN_FALL: Final = 0.1
MIN_RISE: Final = 0.03
NO_SPLIT: Final = "do not split"
NO_GAIN: Final = "gain hardly anything by their splits"
FEW_ROWS: Final = "are grown on a few rows"
NOT_THERE: Final = "learn what does not hold for the validation data"


class _Problem(NamedTuple):
    """A reason why trees cannot learn, with the measured value and the limit that it broke."""

    text: str
    value: float
    threshold: float


class _Round(NamedTuple):
    """Trees of one round: their number, and the leaves, the total cover and the total gain of splits of all of them.

    The gain of splits by categories cannot be derived from the values of leaves, so it is infinite if there are any.
    """

    trees: int
    leaves: int
    cover: float
    gain: float


@attrs.define
class _Course:
    rounds: list[_Round] = attrs.field(factory=list)
    losses: dict[str, list[float]] = attrs.field(factory=dict)

    def rows(self, metric: str) -> float:
        """Return the smallest number of rows that a tree can have been grown on."""
        return max(found.cover / found.trees for found in self.rounds) / LARGEST_WEIGHT[metric]


class TreeGrowth(BuiltinRule):
    """Boosted trees cannot learn anything, as their first rounds show.

    Checks the first `patience` rounds of XGBoost, as long as all of them were saved. The rule fires if the trees

    - have no split in any of these rounds, because gamma or min_child_weight makes splitting too expensive, or because
      the inputs carry no information;
    - gain less than `min_gain` by their splits, relative to their cover, in each round, because lambda or alpha holds
      the leaves at 0. This is checked only if the metric is a cross entropy, because gains then do not depend on the
      scale of the targets;
    - are grown on so few rows that their cover is less than `min_cover` in each round, for example with a tiny
      subsample;
    - learn what does not hold for the validation data: the validation loss rises in each of these rounds, by 3 % in
      total, while the training loss falls by 10 %. This is checked only with at least 20 rows per leaf, because such
      trees cannot memorize samples so soon.

    Parameters:
        patience: Number of first rounds to check; 5 when not given.
        min_gain: Smallest gain of a round, relative to the cover of its trees; 0.0001 when not given.
        min_cover: Smallest cover of a tree; 4 when not given.

    Source:
        Gain and cover: Chen and Guestrin, XGBoost, KDD 2016, section 2.

    Example:
        >>> rule = create_rule("TreeGrowth", trial, {"patience": 10})
        >>> invoke_rule(rule)
    """

    spec_name = "TreeGrowth"
    fires_after_patience = True
    advice = (
        "If trees have no splits or hardly any gain, lower gamma, lambda and min_child_weight, and check that "
        "the inputs were loaded. If they see few rows, raise subsample. Otherwise prepare validation data and "
        "labels like the training data."
    )
    selection = NODES.united_with(LOSSES)

    def configure(self) -> None:
        self._course = _Course()

    def needs(self) -> tuple[TensorRequirement, ...]:
        return TensorRequirement("trees", NODES), TensorRequirement("losses", LOSSES, is_required=False)

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue once the rounds have been seen, if the trees cannot learn."""
        patience: int = self.parameters["patience"]
        course = self._course
        if view.mode is not ModeKeys.GLOBAL or view.step != len(course.rounds) or len(course.rounds) >= patience:
            return None
        found = self._round(view)
        if found is None:
            return None
        course.rounds.append(found)
        for name in view.selected(LOSSES):
            loss = view.scalar(name)
            if loss is not None:
                course.losses.setdefault(name, []).append(loss)
        if len(course.rounds) < patience:
            return []
        problem = self._problem()
        if problem is None:
            return []
        text = f"In the first {patience} rounds trees {problem.text}."
        return [self.found(view, text, tensors=["trees/Node"], value=problem.value, threshold=problem.threshold)]

    @staticmethod
    def _round(view: StepView) -> _Round | None:
        columns = [f"trees/{column}" for column in ("Node", "Split", "Gain", "Cover")]
        values = [view.value(name) for name in columns if name in view.tensor_names]
        if len(values) < len(columns) or any(value is None for value in values):
            return None
        node, split, gain, cover = (to_float64(value) for value in values if value is not None)
        roots, has_no_number = node == 0, np.isnan(split)
        if not roots.any() or not node.shape == split.shape == gain.shape == cover.shape:
            return None
        trees = int(roots.sum())
        leaves = (node.size + trees) // 2  # because each split adds two nodes and one leaf
        is_known = np.count_nonzero(has_no_number) == leaves  # splits by categories have no number either
        gained = float(gain[~has_no_number].sum()) if is_known else math.inf
        return _Round(trees, leaves, float(cover[roots].sum()), gained)

    def _problem(self) -> _Problem | None:
        course = self._course
        metrics = sorted({name.split("-")[1] for name in course.losses})
        metric = metrics[0] if len(metrics) == 1 else ""
        cover = max(found.cover / found.trees for found in course.rounds)
        min_cover: float = self.parameters["min_cover"]
        is_entropy = re.fullmatch("m?logloss", metric) is not None
        if is_entropy and MIN_COVER < cover < min_cover:
            return _Problem(
                f"{FEW_ROWS}: their cover is at most {cover:.3g} (expected at least {min_cover:g})", cover, min_cover
            )
        leaves = max(found.leaves / found.trees for found in course.rounds)
        if leaves == 1:
            return _Problem(NO_SPLIT, leaves, 2)
        gain = max(found.gain / found.cover if found.cover > 0 else 0.0 for found in course.rounds)
        min_gain: float = self.parameters["min_gain"]
        if is_entropy and gain < min_gain:
            return _Problem(
                f"{NO_GAIN}: at most {gain:.2g} of their cover (expected at least {min_gain:g})", gain, min_gain
            )
        training, validation = (course.losses.get(f"{part}-{metric}", []) for part in ("train", "validation"))
        if len(training) == len(validation) == len(course.rounds) and self._parts(metric, training, validation):
            first, latest = validation[0], validation[-1]
            text = f"{NOT_THERE}: the validation loss rose in each round, from {first:.4g} to {latest:.4g}"
            return _Problem(text, latest, (1 + MIN_RISE) * first)
        return None

    def _parts(self, metric: str, training: list[float], validation: list[float]) -> bool:
        """Return whether the validation loss rises from the first round on, and not because samples are memorized."""
        leaves = max(found.leaves / found.trees for found in self._course.rounds)
        if self._course.rows(metric) < ROWS_TO_A_LEAF * leaves:
            return False
        rises = all(np.diff(validation) > 0) and validation[-1] > (1 + MIN_RISE) * validation[0]
        return bool(rises and training[-1] < (1 - MIN_FALL) * training[0])
