"""Decide from collections what to save of each tensor at each step (store format, sections 6 and 9.2).

A tensor belongs to every collection that lists its name or has a matching pattern. At a step, the requests of all due
collections are combined: a value, shape or reduction is saved if one of these collections requests it.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.reductions import Reduction, ReductionConfig
from sagemaker_debug_ext.config.saving import SaveConfig, SaveConfigMode
from sagemaker_debug_ext.vocabulary import BUILTIN_COLLECTIONS, SCALAR_COLLECTIONS, CollectionKeys, ModeKeys

LOG = logging.getLogger(__name__)

TRAINING_ONLY: Final = frozenset({CollectionKeys.GRADIENTS, CollectionKeys.OPTIMIZER_VARIABLES})
"""Collections that are never saved in EVAL and PREDICT."""

RAW: Final = ReductionConfig(save_raw_tensor=True)
"""The default reduction setting, which saves only the value of a tensor."""


@attrs.frozen
class SaveDecision:
    """What to save of one tensor at one step.

    Args:
        collections: Names of the collections that request it, sorted.
        value: Whether to save the value itself.
        shape: Whether to save the shape.
        reductions: The reductions to save, each once.
    """

    collections: tuple[str, ...]
    value: bool
    shape: bool
    reductions: tuple[Reduction, ...]


_FIRST_INDICES: Final = 24


class StepPlan:
    """What is due at the steps that share one set of due collections; true if anything is.

    The decision for each tensor name is cached for all steps that share the plan.

    Args:
        due: The collections due, saved ones and others.
        saved: Names of the collections that are to be saved.
    """

    def __init__(self, due: Iterable[Collection], saved: frozenset[str]) -> None:
        self._due = {collection.name: collection for collection in due}
        self._saved = [collection for collection in self._due.values() if collection.name in saved]
        self._decisions: dict[str, SaveDecision | None] = {}

    def __bool__(self) -> bool:
        return bool(self._saved)

    @property
    def saved(self) -> tuple[str, ...]:
        """Names of the collections to be saved at these steps."""
        return tuple(collection.name for collection in self._saved)

    def decide(self, tensor_name: str) -> SaveDecision | None:
        """Return the decision for a tensor of the framework, or None if it is not to be saved."""
        try:
            return self._decisions[tensor_name]
        except KeyError:
            decision = combine([collection for collection in self._saved if collection.matches(tensor_name)])
            if decision is None:
                LOG.debug("%s is not saved: it belongs to none of %s", tensor_name, ", ".join(self.saved))
            self._decisions[tensor_name] = decision
            return decision

    def reconsider(self, tensor_name: str) -> None:
        """Forget the decision for a tensor."""
        self._decisions.pop(tensor_name, None)

    def selects(self, tensor_name: str) -> bool:
        """Return whether a tensor belongs to a collection to be saved, without caching the result."""
        return any(collection.matches(tensor_name) for collection in self._saved)

    def may_select_of(self, name: str) -> bool:
        """Return whether an input or output of a module or block of that name may belong to a saved collection."""
        return any(self.selects(f"{name}_{kind}_{i}") for kind in ("output", "input") for i in self._indices)

    @functools.cached_property
    def _indices(self) -> tuple[int, ...]:
        """Indices to try where a name ends in one that is not known yet: the first, and those that patterns spell."""
        patterns = [pattern for collection in self._saved for pattern in collection.include_regex]
        spelled = {int(number) for pattern in patterns for number in re.findall(r"\d{1,6}", pattern)}
        return tuple(sorted({*range(_FIRST_INDICES), *spelled}))

    def decide_custom(self, tensor_name: str, collections: Iterable[str]) -> SaveDecision | None:
        """Decide about a tensor that the script puts into `collections` itself, whether these are saved or not."""
        members = {collection.name: collection for collection in self._saved if collection.matches(tensor_name)}
        members |= {name: self._due[name] for name in collections if name in self._due}
        return combine(members.values())


def combine(members: Iterable[Collection]) -> SaveDecision | None:
    """Combine the requests of several collections; return None if there are no requests."""
    ordered = sorted(members, key=lambda collection: collection.name)
    configs = [collection.reduction_config or RAW for collection in ordered]
    reductions = tuple(dict.fromkeys(reduction for config in configs for reduction in config))
    value = any(config.save_raw_tensor for config in configs)
    shape = any(config.save_shape for config in configs)
    if not (value or shape or reductions):
        return None
    return SaveDecision(tuple(collection.name for collection in ordered), value, shape, reductions)


class SavePlan:
    """When each collection is due, for all modes.

    Reads the collections once: later changes to them need a new plan. For a new member, call `reconsider`.

    Args:
        collections: All collections, with complete settings (see `resolve_settings`).
        saved: Names of those that are to be saved.
    """

    def __init__(self, collections: Sequence[Collection], saved: frozenset[str]) -> None:
        self._saved = saved
        self._schedules = {mode: _schedules(collections, mode) for mode in ModeKeys}
        self._plans: dict[tuple[str, ...], StepPlan] = {}

    def at(self, mode: ModeKeys, mode_step: int) -> StepPlan:
        """Return the plan of a step of `mode`; steps at which the same collections are due share one plan."""
        due = [
            collection
            for schedule, collections in self._schedules[mode]
            if schedule.should_save_step(mode_step)
            for collection in collections
        ]
        key = tuple(collection.name for collection in due)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = StepPlan(due, self._saved)
        return plan

    def reconsider(self, tensor_name: str) -> None:
        """Forget what was decided about a tensor, because it has come into another collection."""
        for plan in list(self._plans.values()):
            plan.reconsider(tensor_name)

    def next_due(self, mode: ModeKeys, mode_step: int) -> int | None:
        """Return the first step of `mode` after one at which a collection to be saved is due; None if there is none."""
        steps = [
            schedule.next_step_to_save(mode_step)
            for schedule, collections in self._schedules[mode]
            if any(collection.name in self._saved for collection in collections)
        ]
        return min((step for step in steps if step is not None), default=None)


def _schedules(
    collections: Sequence[Collection], mode: ModeKeys
) -> tuple[tuple[SaveConfigMode, tuple[Collection, ...]], ...]:
    """Group collections by when they are due in `mode`, so that a step asks each distinct schedule once."""
    groups: dict[SaveConfigMode, list[Collection]] = {}
    for collection in collections:
        if mode in (ModeKeys.EVAL, ModeKeys.PREDICT) and collection.name in TRAINING_ONLY:
            continue
        assert collection.save_config is not None, "settings are completed before a plan is made"
        groups.setdefault(collection.save_config.get_save_config(mode), []).append(collection)
    return tuple((schedule, tuple(members)) for schedule, members in groups.items())


def resolve_settings(collection: Collection, save_config: SaveConfig, reduction_config: ReductionConfig | None) -> None:
    """Fill in what a collection leaves to the hook, as the collections file then shows it.

    Collections of scalars always save values, and never histograms, whatever they were told.

    Args:
        collection: The collection, changed in place.
        save_config: The hook's settings, for all modes.
        reduction_config: The hook's setting; None means values only.
    """
    own = collection.save_config
    collection.save_config = save_config if own is None else own.merge_default_save_config(save_config)
    if collection.name in SCALAR_COLLECTIONS:
        collection.reduction_config = RAW
        collection.save_histogram = False
    elif collection.reduction_config is None:
        collection.reduction_config = reduction_config or RAW


def warn_never_saves(save_config: SaveConfig, owner: str) -> None:
    """Warn about modes whose settings never save a step, unless an `end_step` of 0 asks for that.

    It is no error, for the settings of a section of the hook configuration file are laid over those it inherits.

    Args:
        save_config: The settings.
        owner: Whose they are.
    """
    configs = save_config.mode_save_configs.items()
    futile = {mode.name: config for mode, config in configs if config is not None and config.is_futile}
    if futile:
        LOG.warning(
            "the save configuration of %s never saves a step of mode %s: no multiple of save_interval lies from "
            "start_step to before end_step (got %r)",
            owner,
            ", ".join(futile),
            next(iter(futile.values())),
        )


def selects_nothing(collection: Collection) -> bool:
    """Return whether a collection can have no member: not built in, no pattern and no name."""
    return not (collection.name in BUILTIN_COLLECTIONS or collection.include_regex or collection.tensor_names)
