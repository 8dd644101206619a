"""LossNotDecreasing: a loss does not fall fast enough, or rises."""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule, describe_tensors
from sagemaker_debug_ext.rules.inference.training import as_loss
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView, numeric_value
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

PREFERRED_MODES: Final = (ModeKeys.EVAL, ModeKeys.TRAIN)
"""Modes tried in order when the user chose none; the first that has values is used."""


def change_percent(current: float, reference: float) -> float:
    """Return the change from `reference` to `current` in percent of the reference; from 0 every change is infinite."""
    if reference == 0:
        return math.copysign(math.inf, current) if current else 0.0
    return 100.0 * (current - reference) / abs(reference)


def is_not_decreasing(current: float, reference: float, diff_percent: float, increase_percent: float) -> bool:
    """Return whether a loss fell by too little or rose by too much.

    A small rise is tolerated while a standstill is not.

    Args:
        current: The loss now; if it is not finite, that alone is a reason.
        reference: The loss it is compared with.
        diff_percent: Least decrease, in percent of the reference.
        increase_percent: Largest increase, in percent of the reference.
    """
    if not math.isfinite(current):
        return True
    change = change_percent(current, reference)
    return change > increase_percent or (current <= reference and -change < diff_percent)


def reference_step(saved_steps: Sequence[int], step: int, num_steps: int) -> int | None:
    """Return the newest of the ascending `saved_steps` at least `num_steps` before `step`; None if there is none."""
    position = bisect.bisect_right(saved_steps, step - num_steps)
    return saved_steps[position - 1] if position else None


@attrs.frozen
class _Check:
    """One comparison: the current loss, and the reference that it is compared with."""

    current: float
    reference: float
    reference_step: int


class LossNotDecreasing(BuiltinRule):
    """A loss does not fall fast enough, or rises.

    Checks tensors of exactly one element. MXNet losses have one element per sample, and are averaged. A loss is checked
    once at least `num_steps` steps have passed since its last check. It is compared with the newest value saved at
    least `num_steps` steps before; steps count within the mode.

    The rule fires if the loss is not finite, or rose by more than `increase_threshold_percent`. It also fires if the
    loss did not rise but fell by less than `diff_percent`: a small rise is tolerated, a standstill is not. With a
    reference of 0, any rise is too large and a standstill fires.

    Parameters:
        collection_names: Collections whose tensors are checked, as a list or separated by commas.
        tensor_regex: Regular expressions searched in tensor names, as a list or separated by commas. If both are given,
            tensors that match either are checked.
        use_losses_collection: Whether to add the collection ``losses``, if the trial has it; True when not given. One
            of these three must select something.
        num_steps: Smallest distance between compared steps, and between checks; 10 when not given.
        diff_percent: Least decrease, in percent of the earlier value; 0.1 when not given.
        increase_threshold_percent: Largest tolerated increase, in percent of the earlier value; 5.0 when not given.
        mode: ``TRAIN``, ``EVAL`` or ``GLOBAL`` (all steps). When not given: EVAL once the tensor was saved in EVAL,
            otherwise TRAIN once it was saved in TRAIN, otherwise GLOBAL.

    Example:
        >>> rule = create_rule("LossNotDecreasing", trial, {"num_steps": 100, "diff_percent": 0.5, "mode": "TRAIN"})
        >>> invoke_rule(rule)
    """

    spec_name = "LossNotDecreasing"
    advice = (
        "Try another learning rate: lower if the loss rises or jumps, higher if it stands still. Check that "
        "labels match their inputs and that gradients are reset between steps, or compare over more steps."
    )

    def configure(self) -> None:
        collections = list(self.parameters["collection_names"] or ())
        if self.parameters["use_losses_collection"]:
            collections.append(CollectionKeys.LOSSES)
        self.selection = Selection(collections, self.parameters["tensor_regex"])
        mode = self.parameters["mode"]
        self._mode = ModeKeys[mode] if mode else None
        self._last_checks: dict[tuple[str, ModeKeys], int] = {}
        self._first_steps: dict[tuple[str, ModeKeys], int] = {}
        self._seen_modes: dict[str, set[ModeKeys]] = {}

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue that names the losses that do not fall, the one with the largest rise first."""
        checks = {name: check for name in view.selected(self.selection) if (check := self._check(view, name))}
        failed = {name: check for name, check in checks.items() if self._is_failed(check)}
        if failed:
            return [self._describe(view, failed)]
        return [] if checks else None

    def _is_failed(self, check: _Check) -> bool:
        return is_not_decreasing(
            check.current,
            check.reference,
            self.parameters["diff_percent"],
            self.parameters["increase_threshold_percent"],
        )

    def _check(self, view: StepView, name: str) -> _Check | None:
        mode = self._mode or self._preferred_mode(view, name)
        step = view.step_in(mode)
        if step is None or not self._is_due(name, mode, step):
            return None
        current = as_loss(view.value(name), view.trial)
        if current is None:
            return None
        earlier = self._reference_step(name, mode, step)
        if earlier is None:
            return None
        self._last_checks[name, mode] = step
        reference = as_loss(numeric_value(view.trial, name, earlier, mode), view.trial)
        return None if reference is None else _Check(current, reference, earlier)

    def _is_due(self, name: str, mode: ModeKeys, step: int) -> bool:
        last = self._last_checks.get((name, mode))
        return last is None or step - last >= self.parameters["num_steps"]

    def _reference_step(self, name: str, mode: ModeKeys, step: int) -> int | None:
        num_steps: int = self.parameters["num_steps"]
        first = self._first_steps.get((name, mode))
        if first is not None and first > step - num_steps:
            return None  # avoid listing the steps of a long trial repeatedly
        saved_steps = self.views.saved_steps(name, mode, step)
        if saved_steps:
            self._first_steps[name, mode] = saved_steps[0]
        return reference_step(saved_steps, step, num_steps)

    def _preferred_mode(self, view: StepView, name: str) -> ModeKeys:
        """Return the mode to read when the user chose none.

        Only values saved up to this step count, so that a replay evaluates each step as it was evaluated live.
        """
        seen = self._seen_modes.get(name)
        if seen is None:
            seen = self._seen_modes[name] = _modes_so_far(view, name)
        seen.add(view.mode)
        return next((mode for mode in PREFERRED_MODES if mode in seen), ModeKeys.GLOBAL)

    def _describe(self, view: StepView, failed: Mapping[str, _Check]) -> Issue:
        changes = {name: change_percent(check.current, check.reference) for name, check in failed.items()}
        names = sorted(failed, key=lambda name: (-_severity(changes[name]), name))
        first, change = failed[names[0]], changes[names[0]]
        rising = not change <= 0
        limit: float = self.parameters["increase_threshold_percent" if rising else "diff_percent"]
        wanted = f"a rise of at most {limit:g} %" if rising else f"a fall of at least {limit:g} %"
        if not math.isfinite(first.current):
            wanted = "a finite loss"
        message = (
            f"{describe_tensors(names)} not decreasing: the first went from {first.reference:.6g} (step "
            f"{first.reference_step}) to {first.current:.6g}, where {wanted} was expected."
        )
        return self.found(view, message, tensors=names, value=change, threshold=limit if rising else -limit)


def _severity(change: float) -> float:
    return math.inf if math.isnan(change) else change


def _modes_so_far(view: StepView, name: str) -> set[ModeKeys]:
    """Return the preferred modes in which the tensor was saved up to the step."""
    tensor = view.trial.tensor(name)
    firsts = {mode: tensor.steps(mode=mode)[:1] for mode in PREFERRED_MODES}
    return {mode for mode, first in firsts.items() if first and _is_past(view, mode, first[0])}


def _is_past(view: StepView, mode: ModeKeys, mode_step: int) -> bool:
    global_step = view.trial.global_step(mode, mode_step)
    return global_step is not None and global_step <= view.step
