"""`TrainedModels`: notices where a script goes on to train another model."""

from __future__ import annotations

from typing import Final

from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

_OF_MODELS: Final = tuple(
    Selection(collections=(collection,)) for collection in (CollectionKeys.GRADIENTS, CollectionKeys.WEIGHTS)
)
"""What is saved of a model while it is trained; each of them at intervals of its own."""


class TrainedModels:
    """Notices where a script goes on to train another model, whose losses may have the names of those of the first.

    Another model is trained where gradients or weights are saved for the first time, and others that were saved at the
    previous such step are not. Models that take turns differ from each other only at first.
    """

    def __init__(self) -> None:
        self._latest: dict[Selection, list[str]] = {}
        self._known: dict[Selection, set[str]] = {}

    def have_changed(self, view: StepView) -> bool:
        """Observe a step, and return whether it is the first that trains another model."""
        if view.mode not in (ModeKeys.TRAIN, ModeKeys.GLOBAL):
            return False
        changes = [self._observe(view, selection) for selection in _OF_MODELS]
        return any(changes)

    def _observe(self, view: StepView, selection: Selection) -> bool:
        names = view.selected(selection)
        latest = self._latest.get(selection)
        if not names or names is latest:  # the identical list at most steps
            return False
        self._latest[selection] = names
        known = self._known.setdefault(selection, set())
        has_changed = latest is not None and not known.issuperset(names) and not set(names).issuperset(latest)
        known.update(names)
        return has_changed
