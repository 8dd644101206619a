"""`StepView` and `StepReader`: the tensors of a step, read once and shared by all rules, with their statistics."""

from __future__ import annotations

import bisect
import functools
import re
from collections import OrderedDict
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Final, NamedTuple, ParamSpec, Protocol, TypeVar, cast

import numpy as np

from sagemaker_debug_ext.errors import StepUnavailable, TensorUnavailable, TensorUnavailableForStep
from sagemaker_debug_ext.rules.reading.numeric import Array, as_scalar, is_numeric
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.store.format.program import NO_PROGRAM, ProgramRecord
from sagemaker_debug_ext.trials.index.entries import ReductionKey
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.reading.selection import Selection
    from sagemaker_debug_ext.trials import Trial

P = ParamSpec("P")
T = TypeVar("T")

KEPT_BYTES: Final = 512 * 2**20
"""Cache size for values of this step and earlier ones; values beyond it are read again."""

KEPT_VALUES: Final = 2**14
"""Number of values of earlier steps in the cache."""

_OF_ANY_MODEL: Final = re.compile(r"(labels|predictions)(_[0-9]+)?|[^/]*loss")
"""Names under which each Keras model saves its losses, predictions and labels."""

_FEW_REDUCED: Final = 8
"""Number of tensors of a step whose reductions are read one by one, before those of all tensors are read together."""


def _first_number(value: Array) -> float:
    return float(np.asarray(value).reshape(-1)[0])


def numeric_value(trial: Trial, name: str, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> Array | None:
    """Return a tensor's value of the default worker, or None if there is none that rules can evaluate.

    There is none if the trial lacks the step or the tensor, if nothing or only reductions were saved, and if the tensor
    is empty or not numeric.
    """
    file = trial.index_reader.file_of(name, step, mode, None)
    if file is not None and file.layout.slots[name].value < 0:  # spares wide steps of reductions an error each
        return None
    try:
        value = trial.tensor(name).value(step, mode=mode)
    except (TensorUnavailableForStep, TensorUnavailable, StepUnavailable):
        return None
    return value if value.size and is_numeric(value.dtype) else None


class SavedValue(NamedTuple):
    """A tensor's value at an earlier step: the step, counted in some mode, and the value."""

    step: int
    value: Array


class ValueSource(Protocol):
    """Values that are already in memory, such as those of a block of steps."""

    def value(self, name: str, step: int) -> Array | None:
        """Return a tensor's value at a global step; None if it is not in memory."""


class StepView:
    """The tensors of one step, each read at most once.

    Args:
        trial: The trial.
        step: A global step that the trial has.
        views: Cache of values over several steps; a new one when not given.

    Attributes:
        views: Cache of values over several steps.
    """

    def __init__(self, trial: Trial, step: int, views: StepReader | None = None) -> None:
        self.trial = trial
        self.step = step
        mode, mode_step = trial.mode_modestep(step)
        self.mode = mode or ModeKeys.GLOBAL
        self.mode_step = mode_step
        self.views = views or StepReader(trial)
        self._reductions: dict[str, dict[ReductionKey, float]] = {}
        self._statistics: dict[tuple[str, Callable[[Array], Any]], Any] = {}
        self._results: dict[tuple[Any, ...], Any] = {}

    @property
    def program(self) -> ProgramRecord:
        """The record of the program that the step is of; `NO_PROGRAM` if it is unknown."""
        program = self.trial.program
        return program if program is not None and self.step >= program.since_step else NO_PROGRAM

    @functools.cached_property
    def tensor_names(self) -> tuple[str, ...]:
        """Names of the tensors saved at this step, sorted."""
        return self.views.names_at(self.step)

    def selected(self, selection: Selection) -> list[str]:
        """Return the selected tensors among those saved at the step, sorted by name."""
        return self.views.selected(selection, self.tensor_names)

    def of_names(
        self, function: Callable[Concatenate[Trial, tuple[str, ...], P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return ``function(trial, tensor_names, ...)``, computed once for all steps with the same names.

        Args:
            function: A module-level function, not a lambda: it is also a part of the key of the result.
            *args: Further arguments, which can be hashed.
            **kwargs: Further arguments, which can be hashed.
        """
        return self.views.of_names(self.tensor_names, function, *args, **kwargs)

    def value(self, name: str) -> Array | None:
        """Return the tensor's value of the default worker; None as in `numeric_value`."""
        return self.views.value(name, self.step)

    def earlier_value(self, name: str, global_step: int) -> Array | None:
        """Return the tensor's value at an earlier global step, as `value` does."""
        return self.views.value(name, global_step, is_earlier=True)

    def previous(self, name: str, mode: ModeKeys) -> SavedValue | None:
        """Return the tensor's last value before this step among those of a mode; None if there is none.

        There is none either if this step is of another mode, or as in `numeric_value`.
        """
        found = self.once(_previous_step, name, mode)
        value = None if found is None else self.earlier_value(name, found[1])
        return None if found is None or value is None else SavedValue(found[0], value)

    def step_in(self, mode: ModeKeys) -> int | None:
        """Return the number of the step within `mode`; None if the step is of another mode."""
        if mode is ModeKeys.GLOBAL:
            return self.step
        return self.mode_step if self.mode is mode else None

    def scalar(self, name: str) -> float | None:
        """Return the tensor's only element; None if it has another size or no value."""
        return as_scalar(self.value(name))

    def scalars(self, selection: Selection) -> dict[str, float]:
        """Return the selected tensors of exactly one element, by name."""
        return {name: number for name in self.selected(selection) if (number := self.scalar(name)) is not None}

    def statistic(self, name: str, function: Callable[[Array], T], *, keeps_value: bool = True) -> T | None:
        """Return ``function(value)``, computed once per step for all rules; None if there is no value.

        Args:
            name: The tensor.
            function: A module-level function of the value, not a lambda: it is also the key of the result.
            keeps_value: Whether to cache the value, because other rules will probably need it. Allocating memory for a
                large value takes far longer than reading the value again.
        """
        key = (name, function)
        if key not in self._statistics:
            value = self.views.value(name, self.step, keeps=keeps_value)
            self._statistics[key] = None if value is None else function(value)
        return cast("T | None", self._statistics[key])

    def once(self, function: Callable[Concatenate[StepView, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return ``function(self, ...)``, computed once per step for all rules.

        Args:
            function: A module-level function, not a lambda: it is also a part of the key of the result.
            *args: Further arguments, which can be hashed.
            **kwargs: Further arguments, which can be hashed.
        """
        key = (function, *args, *kwargs.items())
        if key not in self._results:
            self._results[key] = function(self, *args, **kwargs)
        return cast("T", self._results[key])

    def reductions(self, name: str) -> dict[ReductionKey, float]:
        """Return the reductions of the tensor that the hook saved; empty if it saved none."""
        if name not in self._reductions and len(self._reductions) == _FEW_REDUCED:
            self._read_all_reductions()
        if name not in self._reductions:
            saved = self.trial.tensor(name).reduction_values(self.step)
            self._reductions[name] = {key: _first_number(value) for key, value in saved.items()}
        return self._reductions[name]

    def _read_all_reductions(self) -> None:
        """Read the reductions of all tensors of the step together, except those that must be read alone."""
        reader = self.trial.index_reader
        found: dict[str, dict[ReductionKey, float]] = {}
        unreadable: set[str] = set()
        for key, names in reader.reductions_at(self.step).items():
            stored = {reduction_tensor_name(*key, name): name for name in names}
            for group in reader.read_columns(names, [self.step], ModeKeys.GLOBAL, None, key):
                (array,) = group.arrays()
                if array is None:
                    unreadable.add(stored[group.name])
                else:
                    found.setdefault(stored[group.name], {})[key] = _first_number(array)
        self._reductions.update((name, saved) for name, saved in found.items() if name not in unreadable)

    def workers(self, name: str) -> list[str]:
        """Return the workers that saved the tensor at the step, sorted.

        Raises:
            TensorUnavailable: The tensor was never saved.
            TensorUnavailableForStep: It was not saved at this step.
        """
        found = [worker for worker, names in self._names_by_worker if name in names]
        return found or self.trial.tensor(name).workers(self.step)

    def default_worker(self, name: str) -> str:
        """Return the worker whose value of the tensor is read; raises as `workers` does."""
        return self.workers(name)[0]

    def place(self, name: str) -> int:
        """Return the position of a tensor in the event file, which is the order in which tensors were saved."""
        value = self.trial.index_reader.find(name, self.step, ModeKeys.GLOBAL)[self.default_worker(name)].value
        return value.location.start if value is not None else 0

    @functools.cached_property
    def _names_by_worker(self) -> list[tuple[str, Container[str]]]:
        reader = self.trial.index_reader
        with reader.lock:
            return [(file.worker, file.layout.slots) for file in reader.index.files_at(self.step, ModeKeys.GLOBAL)]


class StepReader:
    """Creates the views of steps; rules that share an instance share the values that were read.

    Rules visit steps in order, so only the latest step is cached, and of earlier steps the values of tensors for which
    a rule has requested an earlier value before.

    Args:
        trial: The trial.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self._latest: StepView | None = None
        self._values: OrderedDict[tuple[str, int], Array | None] = OrderedDict()
        self._earlier: OrderedDict[tuple[str, int], Array | None] = OrderedDict()
        self._kept_bytes = 0
        self._looked_back: set[str] = set()
        self._selected: dict[tuple[Selection, int], tuple[int, list[str], int]] = {}
        self._names: dict[tuple[int, ...], tuple[list[object], tuple[str, ...], tuple[str, ...]]] = {}
        self._of_names: dict[tuple[Any, ...], tuple[int, Any]] = {}
        self._sources: tuple[ValueSource, ...] = ()
        self._saved_steps: dict[tuple[str, ModeKeys], list[int]] = {}

    def at(self, step: int) -> StepView:
        """Return the view of a global step."""
        if self._latest is None or self._latest.step != step:
            self._latest = StepView(self.trial, step, self)
            self._keep_for_later()
        return self._latest

    def value(self, name: str, step: int, *, is_earlier: bool = False, keeps: bool = True) -> Array | None:
        """Return a tensor's value at a global step, from memory if it is kept there; None as in `numeric_value`."""
        if is_earlier:
            self._looked_back.add(name)
        key = (name, step)
        if key in self._values:
            return self._values[key]
        if key in self._earlier:
            return self._earlier[key]
        value = self._from_memory(name, step)
        if value is None:
            value = numeric_value(self.trial, name, step)
        if not keeps:
            return value
        self._values[key] = value
        self._kept_bytes += 0 if value is None else value.nbytes
        while self._kept_bytes > KEPT_BYTES:
            _, dropped = (self._earlier or self._values).popitem(last=False)
            self._kept_bytes -= 0 if dropped is None else dropped.nbytes
        return value

    def _from_memory(self, name: str, step: int) -> Array | None:
        for source in self._sources:
            found = source.value(name, step)
            if found is not None:
                return found
        return None

    def _keep_for_later(self) -> None:
        """Keep the values that rules may compare with later, and drop the others, before another step is visited."""
        for key, value in self._values.items():
            if key[0] in self._looked_back:
                self._earlier[key] = value
            elif value is not None:
                self._kept_bytes -= value.nbytes
        self._values.clear()
        while len(self._earlier) > KEPT_VALUES:
            _, dropped = self._earlier.popitem(last=False)
            self._kept_bytes -= 0 if dropped is None else dropped.nbytes

    def use(self, source: ValueSource) -> None:
        """Look values up in a source, and in the source used before it, before reading them."""
        if not self._sources or self._sources[0] is not source:
            self._sources = (source, *self._sources[:1])

    def names_at(self, step: int) -> tuple[str, ...]:
        """Return the sorted names of the tensors saved at a global step: the identical object for the same names.

        Losses, predictions and labels are left out where several models take turns under these names, because a rule
        would take their values for those of one model.
        """
        reader = self.trial.index_reader
        with reader.lock:
            layouts = [file.layout for file in reader.index.files_at(step, ModeKeys.GLOBAL)]
        key = tuple(map(id, layouts))
        found = self._names.get(key)
        if found is None:  # keeping the layouts alive ensures that no other object gets the same id
            names = tuple(self.trial.tensor_names(step=step))
            of_one_model = tuple(name for name in names if not _OF_ANY_MODEL.fullmatch(name))
            found = self._names[key] = (list(layouts), names, of_one_model)
        _, names, of_one_model = found
        if len(of_one_model) == len(names):  # the record, which may lie on S3, need not be read
            return names
        program = self.trial.program
        return of_one_model if program is not None and program.turns else names

    def selected(self, selection: Selection, names: tuple[str, ...]) -> list[str]:
        """Return the selected names among those of `names_at`; cached."""
        key = (selection, id(names))
        remembered = self._selected.get(key)
        num_news = self.trial.index_reader.num_news
        if remembered is not None and remembered[2] == num_news:  # collections change only when there is news
            return remembered[1]
        known = self.trial.collections()
        members = sum(len(known[group].tensor_names) for group in selection.collections if group in known)
        if remembered is None or remembered[0] != members:
            remembered = (members, selection.among(names, self.trial), num_news)
        self._selected[key] = (*remembered[:2], num_news)
        return remembered[1]

    def of_names(
        self,
        names: tuple[str, ...],
        function: Callable[Concatenate[Trial, tuple[str, ...], P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return ``function(trial, names, ...)`` for names of `names_at`, computed once; see `StepView.of_names`."""
        key = (function, id(names), *args, *kwargs.items())
        num_news = self.trial.index_reader.num_news
        remembered = self._of_names.get(key)
        if remembered is None or remembered[0] != num_news:  # the framework is unknown at first
            remembered = self._of_names[key] = (num_news, function(self.trial, names, *args, **kwargs))
        return cast("T", remembered[1])

    def saved_steps(self, name: str, mode: ModeKeys, up_to: int) -> Sequence[int]:
        """Return the steps of a mode at which a tensor was saved, ascending, up to a step of that mode, inclusive."""
        steps = self._all_saved_steps(name, mode)
        return steps[: bisect.bisect_right(steps, up_to)]

    def saved_before(self, name: str, mode: ModeKeys, step: int) -> int | None:
        """Return the last step of a mode at which a tensor was saved before a step of that mode; None if none."""
        steps = self._all_saved_steps(name, mode)
        position = bisect.bisect_left(steps, step)
        return steps[position - 1] if position else None

    def _all_saved_steps(self, name: str, mode: ModeKeys) -> list[int]:
        steps = self._saved_steps.get((name, mode))
        if steps is None:
            steps = self.trial.tensor(name).steps(mode=mode)
            if self.trial.loaded_all_steps:  # no step will be added
                self._saved_steps[name, mode] = steps
        return steps


def _previous_step(view: StepView, name: str, mode: ModeKeys) -> tuple[int, int] | None:
    """Return the last step of a mode before this one at which a tensor was saved, and its global step."""
    step = view.step_in(mode)
    before = None if step is None else view.views.saved_before(name, mode, step)
    global_step = None if before is None else view.trial.global_step(mode, before)
    return None if before is None or global_step is None else (before, global_step)


def train_or_all(view: StepView) -> ModeKeys:
    """Return TRAIN if the trial has saved a TRAIN step up to this one, else GLOBAL, which means all steps.

    Later steps do not count, so that a replay evaluates each step as it was evaluated live.
    """
    if view.mode is ModeKeys.TRAIN:
        return ModeKeys.TRAIN
    first = next(iter(view.trial.steps(mode=ModeKeys.TRAIN)), None)
    global_step = None if first is None else view.trial.global_step(ModeKeys.TRAIN, first)
    return ModeKeys.GLOBAL if global_step is None or global_step > view.step else ModeKeys.TRAIN
