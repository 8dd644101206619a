"""One tensor over steps, modes and workers: `Tensor`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sagemaker_debug_ext.errors import (
    InvalidWorker,
    ShapeUnavailableForStep,
    SMDebugNotImplementedError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailableForStep,
)
from sagemaker_debug_ext.store.messages import Array
from sagemaker_debug_ext.trials.computing import check_reduction, compute_reduction
from sagemaker_debug_ext.trials.index import SavedTensor, StoredRecord
from sagemaker_debug_ext.trials.steps import StepState
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials.reader import TrialReader
    from sagemaker_debug_ext.trials.trial import Trial


class Tensor:
    """A tensor of a trial. Get one from `Trial.tensor`.

    Steps count within `mode`; with the default mode they are global steps. Values are read when they are asked for;
    they are **read-only** arrays: copy one to change it.

    Args:
        name: Name of the tensor.
        trial: The trial it was saved in.
        reader: What reads that trial's files.
        cache: Whether to keep values once read.
    """

    def __init__(self, name: str, trial: Trial, reader: TrialReader, cache: bool = False) -> None:
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
        """Return the steps at which the tensor was saved, ascending; looks for new ones first.

        Args:
            mode: Mode whose steps to list; GLOBAL for the global steps of all modes.
            show_incomplete_steps: Also list steps that some worker has yet to write.
        """
        self.trial.maybe_refresh()
        return self._reader.steps_of_tensor(self.name, mode, show_incomplete_steps)

    def prev_steps(self, step: int, n: int | None = None, mode: ModeKeys = ModeKeys.GLOBAL) -> list[int]:
        """Return the last `n` complete steps of the tensor up to `step`, inclusive; all of them without `n`."""
        steps = self.steps(mode)
        earlier = steps[: bisect_right(steps, step)]
        return earlier[-n:] if n else earlier

    def workers(self, step_num: int, mode: ModeKeys = ModeKeys.GLOBAL) -> list[str]:
        """Return the workers that saved the tensor at a step, sorted.

        Raises:
            StepUnavailable: The step was not saved.
            StepNotYetAvailable: The step may still come.
            TensorUnavailableForStep: The step is there without the tensor.
        """
        return list(self._saved(step_num, mode))

    def value(self, step_num: int, mode: ModeKeys = ModeKeys.GLOBAL, worker: str | None = None) -> Array:
        """Return the value at a step.

        Args:
            step_num: The step.
            mode: The mode it counts in.
            worker: Whose value; by default that of the first worker, in sort order, that saved it.

        Returns:
            A read-only array.

        Raises:
            StepUnavailable: The step was not saved.
            StepNotYetAvailable: The step may still come.
            TensorUnavailableForStep: The step is there without the tensor's value; `has_reductions` tells whether
                reductions of it were saved. Or the file that holds it is lost.
            InvalidWorker: The worker did not save the tensor at that step.
            CorruptRecordError: The stored bytes are damaged.
        """
        return self._read_one(step_num, mode, self._value_record(step_num, mode, worker))

    def values(self, mode: ModeKeys = ModeKeys.GLOBAL, worker: str | None = None) -> dict[int, Array]:
        """Return the values at all complete steps at which the tensor was saved, as `value` does: step → array."""
        records = {step: self._value_record(step, mode, worker) for step in self.steps(mode)}
        return dict(zip(records, self._read(list(records), mode, list(records.values())), strict=True))

    def shape(self, step_num: int, mode: ModeKeys = ModeKeys.GLOBAL, worker: str | None = None) -> tuple[int, ...]:
        """Return the shape at a step: the saved one, else that of the value.

        Raises:
            ShapeUnavailableForStep: Neither was saved.
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
        """Return a reduction at a step: the saved one, else one computed from the value.

        Args:
            step_num: The step.
            reduction_name: ``min``, ``max``, ``mean``, ``std``, ``variance``, ``sum``, ``prod``, ``l1`` or ``l2``.
            mode: The mode the step counts in.
            worker: Whose; by default that of the first worker, in sort order, that saved the tensor.
            abs: Whether it is of the absolute values.

        Returns:
            A read-only array of one element if it was saved, a numpy number if it was computed
            (see `trials.computing.compute_reduction`).

        Raises:
            SMDebugValueError: There is no such reduction.
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
    ) -> dict[tuple[str, bool], Array]:
        """Return the saved reductions at a step: (name, of absolute values?) → value; none are computed."""
        records = self._saved_by(step_num, mode, worker).reductions
        arrays = self._read([step_num] * len(records), mode, list(records.values()))
        return dict(zip(records, arrays, strict=True))

    def step(self, *_: object, **__: object) -> None:
        """Say what replaces this method, which is gone.

        Raises:
            SMDebugNotImplementedError: Always.
        """
        raise SMDebugNotImplementedError("Tensor.step is gone: use value, shape, reduction_values or workers")

    def _saved(self, step: int, mode: ModeKeys) -> dict[str, SavedTensor]:
        """Return what was saved at a step, by worker; the trial is only refreshed if nothing is known of it."""
        saved = self._reader.find(self.name, step, mode)
        if saved:
            return saved
        state = self.trial.has_passed_step(step, mode)
        saved = self._reader.find(self.name, step, mode)
        if saved:
            return saved
        if state is StepState.UNAVAILABLE:
            raise StepUnavailable(step, mode)
        if state is StepState.NOT_YET_AVAILABLE:
            raise StepNotYetAvailable(step, mode)
        raise TensorUnavailableForStep(self.name, step, mode)

    def _saved_by(self, step: int, mode: ModeKeys, worker: str | None) -> SavedTensor:
        saved = self._saved(step, mode)
        if worker is None:
            return next(iter(saved.values()))
        if worker not in saved:
            raise InvalidWorker(worker, tuple(saved))
        return saved[worker]

    def _value_record(self, step: int, mode: ModeKeys, worker: str | None) -> StoredRecord:
        saved = self._saved_by(step, mode, worker)
        if saved.value is None:
            raise TensorUnavailableForStep(self.name, step, mode, has_reductions=bool(saved.reductions))
        return saved.value

    def _read_one(self, step: int, mode: ModeKeys, record: StoredRecord) -> Array:
        return self._read([step], mode, [record])[0]

    def _read(self, steps: Sequence[int], mode: ModeKeys, records: Sequence[StoredRecord]) -> list[Array]:
        """Read records, all in one request; `steps` are theirs, counted in `mode`."""
        arrays = {record: self._cached[record] for record in records if record in self._cached}
        wanted = [record for record in records if record not in arrays]
        read = self._reader.read(wanted, self.trial.dynamic_refresh)
        try:
            arrays.update(zip(wanted, read, strict=True))  # one by one: an error leaves what was read before it
        except FileNotFoundError as error:
            lost = next(record for record in wanted if record not in arrays)
            raise TensorUnavailableForStep(self.name, steps[records.index(lost)], mode) from error
        if self.cache:
            self._cached.update(arrays)
        return [arrays[record] for record in records]

    def __repr__(self) -> str:
        return f"Tensor({self.name!r}, trial={self.trial.name!r})"
