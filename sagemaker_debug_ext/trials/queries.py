"""Queries of a trial: its steps, modes and workers; values of many tensors at many steps."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Iterable, KeysView, Sequence
from typing import TYPE_CHECKING, Final

from sagemaker_debug_ext.config.collection import Collection, compile_pattern
from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.trials.arguments import check_step, list_steps, list_tensor_names
from sagemaker_debug_ext.trials.protocols import ReadableTrial
from sagemaker_debug_ext.trials.values.export import scalar_values, trial_to_pandas
from sagemaker_debug_ext.trials.values.stacking import stack_values
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

if TYPE_CHECKING:
    import pandas as pd

_NUMERIC_SUFFIX: Final = re.compile(r"\d+$")


class StepQueries:
    """The methods of `Trial` that list its steps, modes and workers, and relate steps of a mode to global steps."""

    def steps(self: ReadableTrial, mode: ModeKeys = ModeKeys.GLOBAL, show_incomplete_steps: bool = False) -> list[int]:
        """Return the steps of a mode; looks for new ones first.

        Args:
            mode: The mode; GLOBAL for the global steps of all modes.
            show_incomplete_steps: Whether to include steps that some workers have not written yet.
        """
        self.maybe_refresh()
        return self.index_reader.steps(mode, show_incomplete_steps)

    def modes(self: ReadableTrial) -> KeysView[ModeKeys]:
        """Return the modes of the saved steps, without GLOBAL, which stands for steps saved without a mode."""
        with self.index_reader.lock:
            return dict.fromkeys(self.index_reader.index.modes()).keys()

    def mode(self: ReadableTrial, global_step: int) -> ModeKeys | None:
        """Return the mode of a global step; None if it was not saved. Looks for new steps only if it is unknown."""
        return self.mode_modestep(global_step)[0]

    def mode_step(self: ReadableTrial, global_step: int) -> int | None:
        """Return the step number of a global step within its mode; None if it was not saved."""
        return self.mode_modestep(global_step)[1]

    def mode_modestep(self: ReadableTrial, global_step: int) -> tuple[ModeKeys, int] | tuple[None, None]:
        """Return mode and mode step of a global step; ``(None, None)`` if it was not saved."""
        check_step(global_step, "global_step")
        reader = self.index_reader
        with reader.lock:
            found = reader.index.mode_step(global_step)
            if found is None:
                self.maybe_refresh()
                found = reader.index.mode_step(global_step)
        return found or (None, None)

    def global_step(self: ReadableTrial, mode: ModeKeys, mode_step: int) -> int | None:
        """Return the global step of a step of a mode; None if it was not saved. GLOBAL steps are returned as given."""
        if mode is ModeKeys.GLOBAL:
            return mode_step
        check_step(mode_step, "mode_step")
        reader = self.index_reader
        with reader.lock:
            if not reader.index.global_steps(mode, mode_step):
                self.maybe_refresh()
            return next(iter(reader.index.global_steps(mode, mode_step)), None)

    def workers(self: ReadableTrial) -> list[str]:
        """Return the workers that wrote a collections file, or else a tensor; looks for more first."""
        self.maybe_refresh()
        return sorted(self.worker_set)

    def workers_for_global_step(self: ReadableTrial, global_step: int) -> list[str]:
        """Return the workers that saved a tensor at a global step."""
        check_step(global_step, "global_step")
        with self.index_reader.lock:
            return self.index_reader.index.writers(global_step)


class ValueQueries:
    """The methods of `Trial` that read the values of many tensors."""

    def values(
        self: ReadableTrial,
        names: Iterable[str] | None = None,
        mode: ModeKeys = ModeKeys.GLOBAL,
        worker: str | None = None,
        steps: Iterable[int] | None = None,
    ) -> dict[str, dict[int, Array]]:
        """Return the values of many tensors at many steps, reading each event file once; looks for new steps first.

        Args:
            names: The tensors; by default all.
            mode: The mode the steps count in.
            worker: Worker whose values to return; by default, at each step, the first in sort order that saved the
                tensor.
            steps: The steps; by default all complete ones.

        Returns:
            Name → step → read-only array, without values that were not saved or only saved as reductions.

        Raises:
            SMDebugTypeError: `names` or `steps` is not a list of names or steps.
            TensorUnavailable: No tensor with one of the names has been saved so far.
            TensorUnavailableForStep: The file that holds a value is missing.
            CorruptRecordError: The stored bytes of a value are damaged.
        """
        wanted = self.tensor_names(mode=mode) if names is None else list_tensor_names(names)
        for name in _unknown(self, wanted):
            self.tensor(name)  # looks for new steps, and raises if the tensor is in none of them
        at_steps = sorted(set(list_steps(steps))) if steps is not None else self.steps(mode)
        found: dict[str, dict[int, Array | None]] = {name: {} for name in wanted}
        for group in self.index_reader.read_columns(wanted, at_steps, mode, worker):
            found[group.name].update(zip(group.steps, group.arrays(), strict=True))
        return {
            name: {
                step: self.tensor(name).value(step, mode, worker) if array is None else array
                for step, array in _by_step(arrays)
            }
            for name, arrays in found.items()
        }

    def values_at(
        self: ReadableTrial,
        step: int,
        names: Iterable[str] | None = None,
        mode: ModeKeys = ModeKeys.GLOBAL,
        worker: str | None = None,
    ) -> dict[str, Array]:
        """Return the values of many tensors at one step as name → read-only array; see `values`."""
        check_step(step)
        wanted = self.tensor_names(step=step, mode=mode) if names is None else names
        return {name: arrays[step] for name, arrays in self.values(wanted, mode, worker, [step]).items() if arrays}

    def stack(
        self: ReadableTrial,
        names: Iterable[str] | None = None,
        mode: ModeKeys = ModeKeys.GLOBAL,
        worker: str | None = None,
        steps: Iterable[int] | None = None,
    ) -> dict[str, Array]:
        """Return the values of many tensors as one array per tensor, with steps on the first axis; see `values`.

        Raises:
            SMDebugValueError: Shape or dtype of a tensor differ between steps.
        """
        values = self.values(names, mode, worker, steps)
        return {name: stack_values(name, arrays) for name, arrays in values.items() if arrays}

    def scalars(
        self: ReadableTrial,
        mode: ModeKeys = ModeKeys.GLOBAL,
        regex: str | Iterable[str] | None = None,
        collection: str | Collection | None = None,
        worker: str | None = None,
    ) -> dict[str, dict[int, float | complex | bool | str]]:
        """Return the values of tensors with one element, such as losses and metrics: name → step → number.

        Args:
            mode: The mode the steps count in.
            regex: Only return tensors in whose names a pattern is found.
            collection: Only return tensors of this collection.
            worker: Worker whose values to return; by default, at each step, the first in sort order that saved the
                tensor.
        """
        names = self.tensor_names(mode=mode, regex=regex, collection=collection)
        return scalar_values(self, names, mode, worker)

    def to_pandas(
        self: ReadableTrial,
        regex: str | Iterable[str] | None = None,
        collection: str | Collection | None = None,
        mode: ModeKeys = ModeKeys.GLOBAL,
        reductions: Sequence[str] | None = None,
        worker: str | None = None,
    ) -> pd.DataFrame:
        """Return a tidy table with a row for each number.

        Its columns are ``step`` (global), ``mode``, ``mode_step``, ``worker``, ``tensor``, ``reduction`` (None for the
        value itself) and ``value``.

        Args:
            regex: Only include tensors in whose names a pattern is found.
            collection: Only include tensors of this collection.
            mode: Only include steps of this mode; GLOBAL for all.
            reductions: Names of reductions to include, such as ``mean`` or ``abs_max``, for tensors of any size. They
                are saved or computed (`Tensor.reduction_value`), and NaN if neither is possible. By default, the table
                holds the tensors with one element.
            worker: Only include values of this worker; by default those of all workers.

        Raises:
            MissingDependencyError: pandas is not installed.
            SMDebugValueError: A reduction is unknown.
        """
        names = self.tensor_names(mode=mode, regex=regex, collection=collection)
        return trial_to_pandas(self, names, mode, reductions, worker)

    def inputs(self: ReadableTrial, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> list[Array]:
        """Return the values of the collection ``inputs`` at a step, ordered by the number that ends the names."""
        names = self.tensor_names(step=step, mode=mode, collection=CollectionKeys.INPUTS)
        return _values_by_number(self, names, step, mode)

    def labels(self: ReadableTrial, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> list[Array]:
        """Return the values of the tensors ``labels…`` at a step, ordered by the number that ends the names."""
        return _values_by_number(self, self.tensor_names(step=step, mode=mode, regex="labels*"), step, mode)

    def predictions(self: ReadableTrial, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> list[Array]:
        """Return the values of the tensors ``predictions…`` at a step, ordered by the number that ends the names."""
        return _values_by_number(self, self.tensor_names(step=step, mode=mode, regex="predictions*"), step, mode)


def compile_patterns(regex: str | Iterable[str]) -> list[re.Pattern[str]]:
    """Compile one pattern or several.

    Raises:
        SMDebugTypeError: `regex` is neither a pattern nor a list of patterns.
        SMDebugValueError: A pattern is not a regular expression.
    """
    patterns = [regex] if isinstance(regex, str) else regex
    if not isinstance(patterns, Iterable):
        raise SMDebugTypeError(f"regex must be a pattern or a list of patterns (got {regex!r})")
    return [compile_pattern(pattern, "regex") for pattern in patterns]


def _values_by_number(trial: ReadableTrial, names: Iterable[str], step: int, mode: ModeKeys) -> list[Array]:
    """Return the values of tensors at a step, ordered by the number at the end of their names."""
    return [trial.tensor(name).value(step, mode) for name in sorted(names, key=_numeric_suffix)]


def _numeric_suffix(name: str) -> tuple[int, str]:
    found = _NUMERIC_SUFFIX.search(name)
    return (int(found[0]) if found else 0, name)


def _unknown(trial: ReadableTrial, names: Iterable[str]) -> list[str]:
    """Return the names of tensors that are not in the index so far."""
    reader = trial.index_reader
    with reader.lock:
        return [name for name in names if not reader.index.has_tensor(name)]


def _by_step(arrays: dict[int, Array | None]) -> Iterable[tuple[int, Array | None]]:
    steps = list(arrays)
    if len(steps) < 2 or all(a < b for a, b in itertools.pairwise(steps)):
        return arrays.items()
    return sorted(arrays.items(), key=operator.itemgetter(0))
