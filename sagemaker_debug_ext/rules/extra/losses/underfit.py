"""Underfit: a simple model of the same data predicts far better than the trained one."""

from __future__ import annotations

import collections
import itertools
import statistics
from typing import Final

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.activations import growth_over_steps
from sagemaker_debug_ext.rules.inference.baselines.simple_models import LINEAR, LatestSamples
from sagemaker_debug_ext.rules.inference.baselines.token_table import TokenTables
from sagemaker_debug_ext.rules.inference.class_labels import MODEL_INPUTS
from sagemaker_debug_ext.rules.inference.class_weights import weights_of
from sagemaker_debug_ext.rules.inference.losses import INPUTS, observed_losses
from sagemaker_debug_ext.rules.inference.moving_goals import AdversarialLosses, MovingTargets
from sagemaker_debug_ext.rules.inference.training import is_training, learns_by_acting, mean_loss
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.vocabulary import ModeKeys

RESHAPED: Final = "were reshaped, not transposed, to have the samples along their second axis"
"""Message part on inputs that tell nothing unless their numbers are put back in order."""
SORTED: Final = 0.2
"""Share of the variance of targets, explained by their order in a batch, from which on they are sorted.

Where samples and times are exchanged, what all samples have in common at a time then tells the target.
"""
TIED: Final = "Most samples get the same prediction to the bit"
"""Message part on models that no longer tell samples apart, as where units answer to few of them."""
MOST: Final = 0.5
"""Fraction of the samples that are most of them."""
ENDED_EARLY: Final = "Training has ended after"
"""Message part on very few steps."""
VERY_FEW: Final = 30
"""Number of training steps up to which nearly any training is too short."""
LITTLE: Final = 0.3
"""Share of the variance of the targets below which a model explains little."""
PENALISED: Final = "of the loss come from elsewhere, as from penalties on weights"
"""Message part on losses of which predictions give only a part."""
MUCH: Final = 0.15
"""Share of a loss that is much to come from elsewhere than from predictions."""
NUM_LATEST: Final = 20
HARDLY_FALLEN: Final = "The loss has hardly fallen"
"""Message part on training that gets nowhere."""
NOTHING_LEARNT: Final = "None of this has been learnt"
"""Message part on models that are no better than a constant, although the inputs tell much of the targets."""
NOTHING: Final = 0.1
"""Share of what a simple model explains, up to which what the trained model explains, or adds, is nothing."""
TELLS_MUCH: Final = 0.3
"""Share of the variance of the targets from which on a simple model shows that the inputs tell much of them."""
OF_CLASSES: Final = "These whole numbers may be those of classes"
"""Message part on classes that are learnt as quantities."""
NAMED: Final = 0.8
"""Share of the targets that the nearest neighbours must name where they may be numbers of classes."""
FEWER_ERRORS: Final = 3
"""How many times as many targets as the neighbours the model must name wrongly."""
LEAST_AHEAD: Final = 0.1
"""Share of the targets by which the neighbours must be ahead."""
ABOVE_TABLE: Final = 1.1
"""Ratio of a cross entropy to that of a table of what follows each token, above which a model is worse."""
LEAST_ABOVE: Final = 0.1
"""Difference of these in nats."""
STILL_ABOVE: Final = 0.7
"""Ratio of that difference in the last fifth of training to that in the second, above which it hardly falls."""
FALLEN: Final = 0.9
"""Ratio of a loss to an earlier one below which it has fallen."""


class Underfit(BuiltinRule):
    """A linear model, or the nearest neighbours, predicts far better than the model has learnt to.

    When the job has ended, simple models are fitted to the latest 600 training samples: ridge regression, and the mean
    of the five nearest neighbours. Each predicts the targets of a sample from the other samples. Where there are no
    more than eight different samples, as of a logic gate, it is a table of these. The measure is the share of the
    variance of the targets that predictions explain; for classes, it is that of their indicators. The rule fires if the
    share of the model is below `max_explained`, and what it leaves unexplained is at least `factor` times what the best
    simple model leaves. It also fires if the share of ridge regression is at least 0.3, and that of the model less than
    a tenth of it, because it then has learnt nothing although the inputs tell much. The predictions of evaluation count
    if they are better, because dropout makes those of training worse. A model whose loss still falls, by a tenth from
    the third or fourth fifth of training to the last, is on its way. Training that has ended after at most 30 steps
    needs more of them, however fast the loss was falling, so that half of `factor` suffices. Training that has ended
    before `patience` steps and explains less than 0.3 is judged likewise, but by the whole `factor`. The message tells
    whether most samples of the latest batch get the same prediction to the bit, but not all of them, whether much of a
    cross entropy of classes comes from elsewhere than its predictions, as from penalties on weights, and whether the
    loss has hardly fallen.

    Whole numbers may be those of classes, which have no order. If the targets are three to twenty of them, the rule
    also fires if the nearest neighbours name at least 80 % of them by vote, and a third as many wrongly as the model's
    rounded predictions.

    Models that predict a class for each token of a sequence, such as the next token, are compared with a table of what
    each token alone tells. It counts the pairs of token and class in the first pass through the data, and leaves each
    pair out that it predicts. The rule fires if the cross entropy of the model on the latest 20 steps, or on those of
    evaluation if it is lower, is a tenth above that of the table, and was hardly farther from it in the second fifth of
    training: by less than a factor of 1.4. Targets that mostly are the
    tokens themselves are left alone. The message says so if the record of the program has a recurrent layer whose
    activation is not bounded, such as a ReLU.

    Inputs that have the samples along their second axis, such as (time, samples, features), are read both as they are
    and as if samples of shape (time, features), one after the other, had been reshaped to them. The message says so if
    only the second way lets a simple model predict. Batches of fewer than ten samples, and those that are sorted by
    their targets, are not read the second way.

    Samples with a single target, or up to 100, are compared, such as tables, short series, words and small pictures.
    Autoencoders, adversarial losses, agents that learn from what they do, and losses that weight samples or classes
    are not.

    Parameters:
        patience: Number of TRAIN steps that a model gets to learn; 100 when not given.
        max_explained: Share of the variance from which on a model is good enough; 0.9 when not given.
        factor: Smallest ratio of the unexplained variance to that of the best simple model; 5 when not given.

    Source:
        Simple models as the first yardstick: Zinkevich, Rules of Machine Learning, rule 4; leave-one-out predictions:
        Hastie, Tibshirani, Friedman, The Elements of Statistical Learning, 7.10.

    Example:
        >>> rule = create_rule("Underfit", trial, {"factor": 3})
        >>> invoke_rule(rule)
    """

    spec_name = "Underfit"
    begins_anew = True
    advice = (
        "If training was short or the loss has hardly fallen, train for longer or raise the learning rate. Otherwise "
        "look for a layer that loses what the inputs tell, such as one with too few units, for penalties on weights "
        "that outweigh the targets, and for a loss that does not suit these. Classes need one output each, a softmax "
        "and a cross entropy. Axes are moved by transpose or permute, not by reshape."
    )

    def configure(self) -> None:
        self._trained = LatestSamples(keeps_inputs=True)
        self._tables = TokenTables()
        self._on_new_data = LatestSamples(keeps_inputs=False)
        self._adversarial = AdversarialLosses()
        self._moving = MovingTargets()
        self._losses: dict[str, list[float]] = {}
        self._penalties: dict[str, collections.deque[float]] = {}
        self._latest: StepView | None = None
        self._last_step: int | None = None

    def needs(self) -> tuple[TensorRequirement, ...]:
        return TensorRequirement("inputs", MODEL_INPUTS), TensorRequirement("inputs of losses", INPUTS)

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Observe a step, and return an issue if it is the last one and the model underfits."""
        losses = observed_losses(view, keeps_shares=True)
        if not losses:
            return None
        if view.mode is ModeKeys.EVAL:
            self._on_new_data.observe(view)
        if view.mode is ModeKeys.EVAL or is_training(view):
            self._tables.observe(view)
        if is_training(view):
            self._adversarial.observe(view)
            self._moving.observe(view)
            self._trained.observe(view)
            for loss in losses:
                self._losses.setdefault(loss.name, []).append(loss.value)
                latest = self._penalties.setdefault(loss.name, collections.deque(maxlen=NUM_LATEST))
                latest.append(loss.share_of_penalties)
            self._latest = view
        if self._last_step is None and view.trial.loaded_all_steps:
            self._last_step = max(view.trial.tensor(loss.targets_name).steps()[-1] for loss in losses)
        return self.issues_while_waiting() if view.step == self._last_step else []

    def issues_while_waiting(self) -> list[Issue]:
        """Return an issue if the job has ended and the model underfits."""
        view, self._latest = (self._latest, None) if self.base_trial.loaded_all_steps else (None, self._latest)
        if view is None or self._has_other_goals(view):
            return []
        found = (self._compare(view, name) for name in self._trained.names())
        return [issue for issue in (*found, self._compare_tables(view)) if issue is not None][:1]

    def _has_other_goals(self, view: StepView) -> bool:
        """Return whether the model does not aim at single targets, or not at the same ones all the time."""
        program = view.program
        is_weighted = program.is_weighted or any(
            len(set(weights_of(program, loss.name).values())) > 1 for loss in program.losses
        )
        return is_weighted or self._moving.are_there() or learns_by_acting(view)

    def _compare(self, view: StepView, name: str) -> Issue | None:
        """Return an issue if a simple model predicts the targets of a loss far better."""
        own = self._explained(name)
        num_steps = (view.mode_step or 0) + 1
        has_time = len(self._losses[name]) >= self.parameters["patience"]
        if own is None or self._adversarial.has(name):
            return None
        is_short = num_steps <= VERY_FEW or (num_steps < self.parameters["patience"] and own < LITTLE)
        is_over = is_short and self._ends_with(view, name)
        if not (has_time or is_over):
            return None
        course = _means_of_fifths(self._losses[name])
        if not is_over and course[-1] < FALLEN * max(course[2:4]):
            return None
        return self._compare_classes(view, name) or self._compare_fits(view, name, own, course, is_over=is_over)

    @staticmethod
    def _ends_with(view: StepView, name: str) -> bool:
        """Return whether training has ended with a loss, and did not go on without it."""
        steps = view.trial.steps(mode=view.mode)
        return name in view.tensor_names and bool(steps) and steps[-1] == view.step_in(view.mode)

    def _compare_classes(self, view: StepView, name: str) -> Issue | None:
        """Return an issue if targets are named far better as classes than as quantities."""
        own, by_neighbours = self._trained.shares_named(name) or (0.0, 0.0)
        limit = 1 - FEWER_ERRORS * (1 - by_neighbours)
        if by_neighbours < NAMED or own > min(limit, by_neighbours - LEAST_AHEAD):
            return None
        text = (
            f"The model learns a quantity from the targets of {name!r}, and its rounded predictions name {own:.0%} of "
            f"them, but the five nearest neighbours {by_neighbours:.0%} by vote. {OF_CLASSES}."
        )
        return self.found(view, text, tensors=[name], value=own, threshold=limit)

    def _compare_fits(
        self, view: StepView, name: str, own: float, course: list[float], *, is_over: bool
    ) -> Issue | None:
        """Return an issue if a simple model leaves far less of the variance unexplained."""
        limit: float = self.parameters["max_explained"]
        is_very_short = (view.mode_step or 0) < VERY_FEW
        factor: float = self.parameters["factor"] / (2 if is_very_short else 1)
        if own >= limit:
            return None
        fits, restored = self._trained.simple_fits(name), self._trained.simple_fits(name, restored=True)
        if not fits:
            return None
        is_reshaped = bool(restored) and 1 - fits[0].explained >= factor * (1 - restored[0].explained)
        if is_reshaped:
            by_order = self._trained.explained_by_order(name)
            is_reshaped = fits[0].explained < limit and by_order is not None and by_order < SORTED
        best = restored[0] if is_reshaped else fits[0]
        is_far_worse = 1 - own >= factor * (1 - best.explained)
        if not is_far_worse:
            # neighbours may be the same sample, changed at random
            best = next((fit for fit in fits if fit.name == LINEAR), best)
            if is_over or best.explained < TELLS_MUCH or abs(own) > NOTHING * best.explained:
                return None
        text = (
            f"The model underfits: its predictions explain {max(own, 0):.1%} of the variance of the targets of "
            f"{name!r} (at least {limit:.0%} expected), and those of {best.name} {best.explained:.1%}."
        )
        if is_reshaped:
            text = f"{text} The latter takes the inputs in another order: they {RESHAPED}."
        elif is_over:
            text = f"{text} {ENDED_EARLY} {(view.mode_step or 0) + 1} steps."
        else:
            seen = self._what_else_is_seen(name, course) or ("" if is_far_worse else f" {NOTHING_LEARNT}.")
            text = f"{text}{seen}"
        return self.found(view, text, tensors=[name], value=own, threshold=limit)

    def _what_else_is_seen(self, name: str, course: list[float]) -> str:
        """Return a sentence, after a space, on what tells why a model underfits; empty if nothing does."""
        if self._trained.share_of_ties(name) > MOST:
            return f" {TIED}, as where units answer to few of them."
        if (share := statistics.fmean(self._penalties[name])) > MUCH:
            return f" {share:.0%} {PENALISED}."
        if course[-1] > FALLEN * course[0]:
            return f" {HARDLY_FALLEN}."
        return ""

    def _compare_tables(self, view: StepView) -> Issue | None:
        """Return an issue if a table of what each token alone tells predicts better than a model of sequences."""
        for name, (own, of_table) in self._tables.cross_entropies().items():
            if len(self._losses.get(name, ())) < self.parameters["patience"] or name not in view.tensor_names:
                continue
            course = [value - of_table for value in _means_of_fifths(self._losses[name])]
            limit = max(ABOVE_TABLE * of_table, of_table + LEAST_ABOVE)
            if own > limit and course[-1] > STILL_ABOVE * course[1]:
                text = (
                    f"The model underfits: its cross entropy in {name!r} is {own:.3g}, and that of a table of what "
                    f"each token alone tells is {of_table:.3g}."
                )
                growth = growth_over_steps(view.program)
                text = f"{text} {growth}." if growth else text
                return self.found(view, text, tensors=[name], value=own, threshold=limit)
        return None

    def _explained(self, name: str) -> float | None:
        """Return the share of the variance that the model explains, in training or evaluation, whichever is more."""
        trained = self._trained.explained(name)
        return None if trained is None else max(trained, self._on_new_data.explained(name) or trained)


def _means_of_fifths(losses: list[float]) -> list[float]:
    """Return the mean of each fifth of the losses; of fewer than five, the first and the last count several times."""
    bounds = [round(part * len(losses) / 5) for part in range(6)]
    return [
        mean_loss(losses[start:end] or losses[start : start + 1] or losses[-1:])
        for start, end in itertools.pairwise(bounds)
    ]
