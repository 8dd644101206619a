"""One tensor over steps, modes and workers: `Tensor`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, overload

from sagemaker_debug_ext._printable import html_table
from sagemaker_debug_ext.errors import (
    InvalidWorker,
    ShapeUnavailableForStep,
    SMDebugNotImplementedError,
    SMDebugValueError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailableForStep,
)
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.trials.arguments import check_step, list_steps
from sagemaker_debug_ext.trials.index.completeness import StepState
from sagemaker_debug_ext.trials.index.entries import ReductionKey, SavedTensor, StoredRecord
from sagemaker_debug_ext.trials.repr import span
from sagemaker_debug_ext.trials.step_range import StepRange
from sagemaker_debug_ext.trials.values.export import tensor_to_xarray
from sagemaker_debug_ext.trials.values.reductions import check_reduction, compute_reduction
from sagemaker_debug_ext.trials.values.stacking import stack_values
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    import xarray

    from sagemaker_debug_ext.trials.index.reader import TrialReader
    from sagemaker_debug_ext.trials.protocols import ReadableTrial


class Tensor:
    """A tensor of a trial. Get one from `Trial.tensor`.

    Steps count within `mode`; with the default mode they are global steps. Values are read on request and
    are **read-only** arrays; copy an array to change it.

    Args:
        name: Name of the tensor.
        trial: The trial that holds the tensor.
        reader: The reader of the trial.
        cache: Whether to cache values.
    """

    def __init__(self, name: str, trial: ReadableTrial, reader: TrialReader, cache: bool = False) -> None:
        self.name = name
        self.trial = trial
        self.cache = cache
        self._reader = reader
        self._cached: dict[StoredRecord, Array] = {}

    @property
    def original_name(self) -> str | None:
        """The tensor's name in its framework; None unless its shape was saved."""
        return self._reader.original_name(self.name)

    def steps(self, mode: ModeKeys = ModeKeys.GLOBAL, show_incomplete_steps: bool = False) -> list[int]:
        """Return the steps at which the tensor was saved, ascending; looks for new steps first.

        Args:
            mode: Mode whose steps to list; GLOBAL for the global steps of all modes.
            show_incomplete_steps: Whether to include steps that some workers have not written yet.
        """
        self.trial.maybe_refresh()
        return self._reader.steps_of_tensor(self.name, mode, show_incomplete_steps)

    def prev_steps(self, step: int, n: int | None = None, mode: ModeKeys = ModeKeys.GLOBAL) -> list[int]:
        """Return the last `n` complete steps of the tensor up to `step`, inclusive; all of them without `n`."""
        check_step(step)
        if n is not None:
            check_step(n, "n")
        steps = self.steps(mode)
        earlier = steps[: bisect_right(steps, step)]
        return earlier[-n:] if n else earlier

    def workers(self, step_num: int, mode: ModeKeys = ModeKeys.GLOBAL) -> list[str]:
        """Return the workers that saved the tensor at a step, sorted.

        Raises:
            StepUnavailable: The step was not saved.
            StepNotYetAvailable: The step may still be written.
            TensorUnavailableForStep: The step was saved without the tensor.
        """
        return list(self._saved(step_num, mode))

    def value(self, step_num: int, mode: ModeKeys = ModeKeys.GLOBAL, worker: str | None = None) -> Array:
        """Return the value at a step.

        Args:
            step_num: The step.
            mode: The mode the step counts in.
            worker: Worker whose value to return; by default the first in sort order that saved the value.

        Returns:
            A read-only array.

        Raises:
            StepUnavailable: The step was not saved.
            StepNotYetAvailable: The step may still be written.
            TensorUnavailableForStep: The step was saved without the value, or the file that holds it is missing. The
                error's `has_reductions` says whether reductions of the tensor were saved.
            InvalidWorker: The worker did not save the tensor at that step.
            CorruptRecordError: The stored bytes are damaged.
        """
        return self._read_one(step_num, mode, self._value_record(step_num, mode, worker))

    def values(
        self,
        mode: ModeKeys = ModeKeys.GLOBAL,
        worker: str | None = None,
        steps: Iterable[int] | None = None,
    ) -> dict[int, Array]:
        """Return the values at many steps, read together; see `value`.

        Args:
            mode: The mode the steps count in.
            worker: As for `value`.
            steps: The steps; by default all complete ones at which the tensor was saved.

        Returns:
            Step → read-only array, in the order of the steps.
        """
        wanted = self.steps(mode) if steps is None else list_steps(steps)
        if self.cache:
            return {step: self.value(step, mode, worker) for step in wanted}
        found: dict[int, Array] = {}
        for group in self._reader.read_columns([self.name], wanted, mode, worker):
            found.update(
                (step, array) for step, array in zip(group.steps, group.arrays(), strict=True) if array is not None
            )
        return {step: found[step] if step in found else self.value(step, mode, worker) for step in wanted}

    def stack(
        self,
        mode: ModeKeys = ModeKeys.GLOBAL,
        worker: str | None = None,
        steps: Iterable[int] | None = None,
    ) -> Array:
        """Return the values at many steps as one array with steps on the first axis.

        Args:
            mode: The mode the steps count in.
            worker: As for `value`.
            steps: The steps; by default all complete ones at which the tensor was saved, as `steps` lists them.

        Raises:
            SMDebugValueError: There are no such steps, or shape or dtype differ between steps.
            StepUnavailable: As for `value`, as are the other errors.
        """
        return stack_values(self.name, self.values(mode, worker, steps))

    def items(
        self,
        mode: ModeKeys = ModeKeys.GLOBAL,
        worker: str | None = None,
        begin: int | None = None,
        end: int | None = None,
        read_ahead: int = 16,
    ) -> Iterator[tuple[int, Array]]:
        """Yield the values step by step, while the next values are read in the background.

        Args:
            mode: The mode the steps count in.
            worker: As for `value`.
            begin: First step; None for the first step of the tensor.
            end: Step to stop before; None for no bound.
            read_ahead: Number of steps to read at once; twice as many values may be in memory.

        Yields:
            Step and read-only array.

        Raises:
            SMDebugTypeError: A bound or `read_ahead` is not an integer.
            SMDebugValueError: `read_ahead` is below 1.
        """
        check_step(read_ahead, "read_ahead")
        if read_ahead < 1:
            raise SMDebugValueError(f"read_ahead must be at least 1 (got {read_ahead!r})")
        bounds = StepRange(begin, end)
        steps = [step for step in self.steps(mode) if step in bounds]
        chunks = [steps[start : start + read_ahead] for start in range(0, len(steps), read_ahead)]
        with ThreadPoolExecutor(1, "read-ahead") as pool:
            ahead = [pool.submit(self.values, mode, worker, chunk) for chunk in chunks[:1]]
            for following in [*chunks[1:], None]:
                ready = ahead.pop().result() if ahead else {}
                if following is not None:
                    ahead.append(pool.submit(self.values, mode, worker, following))
                yield from ready.items()

    def __iter__(self) -> Iterator[tuple[int, Array]]:
        return self.items()

    @overload
    def __getitem__(self, step: int) -> Array: ...
    @overload
    def __getitem__(self, step: slice) -> dict[int, Array]: ...
    def __getitem__(self, step: int | slice) -> Array | dict[int, Array]:
        """Return the value at a global step, or step → value for a slice of steps.

        The bounds of a slice are steps, the end exclusive; its stride counts saved steps.
        """
        if isinstance(step, slice):
            bounds = StepRange(step.start, step.stop)
            return self.values(steps=[number for number in self.steps() if number in bounds][:: step.step])
        return self.value(step)

    def to_xarray(self, mode: ModeKeys = ModeKeys.GLOBAL, worker: str | None = None) -> xarray.DataArray:
        """Return the values at all complete steps as an `xarray.DataArray` with the dimension ``step`` first.

        Args:
            mode: The mode the steps count in; modes other than GLOBAL add the coordinate ``global_step``.
            worker: As for `value`.

        Raises:
            MissingDependencyError: xarray is not installed.
            SMDebugValueError: As for `stack`.
        """
        return tensor_to_xarray(self, mode, worker)

    def shape(self, step_num: int, mode: ModeKeys = ModeKeys.GLOBAL, worker: str | None = None) -> tuple[int, ...]:
        """Return the shape at a step: the saved shape, or else the shape of the value.

        Raises:
            ShapeUnavailableForStep: Neither a shape nor a value was saved.
            StepUnavailable: As for `value`, as are the other errors.
        """
        saved = self._saved_by(step_num, mode, worker)
        if saved.shape is not None:
            return saved.shape.shape
        if saved.value is None:
            raise ShapeUnavailableForStep(self.name, step_num, mode)
        return self._read_one(step_num, mode, saved.value).shape

    def reduction_value(
        self,
        step_num: int,
        reduction_name: str,
        mode: ModeKeys = ModeKeys.GLOBAL,
        worker: str | None = None,
        abs: bool = False,  # noqa: A002 - name given by the API
    ) -> Any:
        """Return a reduction at a step: the saved reduction, or else one computed from the value.

        Args:
            step_num: The step.
            reduction_name: ``min``, ``max``, ``mean``, ``std``, ``variance``, ``sum``, ``prod``, ``l1`` or ``l2``.
            mode: The mode the step counts in.
            worker: Worker whose reduction to return; by default the first in sort order that saved the tensor.
            abs: Whether to reduce the absolute values.

        Returns:
            A read-only array of one element if the reduction was saved, a NumPy scalar if it was computed
            (see `trials.values.reductions.compute_reduction`).

        Raises:
            SMDebugValueError: The reduction is unknown.
            TensorUnavailableForStep: Neither the reduction nor the value was saved; `tname` is the reduction's name.
            StepUnavailable: As for `value`, as are the other errors.
        """
        check_reduction(reduction_name)
        saved = self._saved_by(step_num, mode, worker)
        record = saved.reductions.get((reduction_name, abs))
        if record is not None:
            return self._read_one(step_num, mode, record)
        if saved.value is None:
            raise TensorUnavailableForStep(reduction_name, step_num, mode)
        return compute_reduction(reduction_name, self._read_one(step_num, mode, saved.value), abs)

    def reduction_values(
        self, step_num: int, mode: ModeKeys = ModeKeys.GLOBAL, worker: str | None = None
    ) -> dict[ReductionKey, Array]:
        """Return the saved reductions at a step as (name, whether of absolute values) → value; computes none."""
        records = self._saved_by(step_num, mode, worker).reductions
        arrays = self._read([step_num] * len(records), mode, list(records.values()))
        return dict(zip(records, arrays, strict=True))

    def step(self, *_: object, **__: object) -> None:
        """Raise an error that names the replacement of this removed method.

        Raises:
            SMDebugNotImplementedError: Always.
        """
        raise SMDebugNotImplementedError("Tensor.step is gone: use value, shape, reduction_values or workers")

    def _saved(self, step: int, mode: ModeKeys) -> dict[str, SavedTensor]:
        """Return the saved tensor at a step by worker; refreshes the trial only if none is known."""
        check_step(step)
        saved = self._reader.find(self.name, step, mode)
        if saved:
            return saved
        state = self.trial.has_passed_step(step, mode)
        saved = self._reader.find(self.name, step, mode)
        if saved:
            return saved
        if state is StepState.UNAVAILABLE:
            raise StepUnavailable(step, mode, self._reader.steps_near(step, mode))
        if state is StepState.NOT_YET_AVAILABLE:
            raise StepNotYetAvailable(step, mode, self._reader.steps_near(step, mode))
        raise TensorUnavailableForStep(self.name, step, mode, near=self._reader.steps_near(step, mode, self.name))

    def _saved_by(self, step: int, mode: ModeKeys, worker: str | None) -> SavedTensor:
        check_step(step)
        file = self._reader.file_of(self.name, step, mode, worker)
        if file is not None:
            return file.saved(file.layout.slots[self.name])
        saved = self._saved(step, mode)
        if worker is None:
            return next(iter(saved.values()))
        if worker not in saved:
            raise InvalidWorker(worker, tuple(saved))
        return saved[worker]

    def _value_record(self, step: int, mode: ModeKeys, worker: str | None) -> StoredRecord:
        check_step(step)
        file = self._reader.file_of(self.name, step, mode, worker)
        position = -1 if file is None else file.layout.slots[self.name].value
        if file is not None and position >= 0:
            return file.record(position)
        saved = self._saved_by(step, mode, worker)
        if saved.value is None:
            raise TensorUnavailableForStep(self.name, step, mode, has_reductions=bool(saved.reductions))
        return saved.value

    def _read_one(self, step: int, mode: ModeKeys, record: StoredRecord) -> Array:
        if self.cache:
            return self._read([step], mode, [record])[0]
        try:
            return self._reader.read_one(record, self.trial.dynamic_refresh)
        except FileNotFoundError as error:
            raise TensorUnavailableForStep(self.name, step, mode) from error

    def _read(self, steps: Sequence[int], mode: ModeKeys, records: Sequence[StoredRecord]) -> list[Array]:
        """Read records together; `steps` are the steps of the records in `mode`."""
        arrays = {record: self._cached[record] for record in records if record in self._cached}
        wanted = [record for record in records if record not in arrays]
        read = self._reader.read(wanted, self.trial.dynamic_refresh)
        try:
            arrays.update(zip(wanted, read, strict=True))  # one by one, so that values read before an error are kept
        except FileNotFoundError as error:
            lost = next(record for record in wanted if record not in arrays)
            raise TensorUnavailableForStep(self.name, steps[records.index(lost)], mode) from error
        if self.cache:
            self._cached.update(arrays)
        return [arrays[record] for record in records]

    def __repr__(self) -> str:
        return f"Tensor({self.name!r}, trial={self.trial.name!r})"

    def _repr_html_(self) -> str:
        rows = []
        for mode in ModeKeys:
            steps = self.steps(mode)
            if steps:
                workers = ", ".join(self.workers(steps[-1], mode))
                rows.append((mode.name, span(steps), workers))
        return html_table(rows, ("mode", "steps", "workers at the last step"), f"{self.name} of {self.trial.name}")
