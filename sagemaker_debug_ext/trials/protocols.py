"""The parts of a trial that its own helpers use, as protocols, so that they need not import `Trial`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.store.format.program import ProgramRecord
from sagemaker_debug_ext.trials.index.completeness import StepState
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.config.collection import Collection
    from sagemaker_debug_ext.trials.index.entries import ReductionKey
    from sagemaker_debug_ext.trials.index.reader import TrialReader
    from sagemaker_debug_ext.trials.problems import Problem


class ReadableTensor(Protocol):
    """A tensor whose values and reductions can be read; `Tensor` implements it."""

    name: str

    @property
    def trial(self) -> ReadableTrial: ...
    def steps(self, mode: ModeKeys = ...) -> list[int]: ...
    def value(self, step_num: int, mode: ModeKeys = ..., worker: str | None = ...) -> Array: ...
    def stack(self, mode: ModeKeys = ..., worker: str | None = ..., steps: Iterable[int] | None = ...) -> Array: ...
    def reduction_values(
        self, step_num: int, mode: ModeKeys = ..., worker: str | None = ...
    ) -> Mapping[ReductionKey, Array]: ...


class ReadableTrial(Protocol):
    """A trial whose steps, names and values can be read; `Trial` implements it."""

    name: str
    path: str
    num_workers: int
    worker_set: set[str]
    dynamic_refresh: bool
    index_reader: TrialReader

    @property
    def loaded_all_steps(self) -> bool: ...
    def maybe_refresh(self) -> None: ...
    def has_passed_step(self, step: int, mode: ModeKeys = ...) -> StepState: ...
    def steps(self, mode: ModeKeys = ...) -> list[int]: ...
    def workers(self) -> list[str]: ...
    def mode_modestep(self, global_step: int) -> tuple[ModeKeys, int] | tuple[None, None]: ...
    def global_step(self, mode: ModeKeys, mode_step: int) -> int | None: ...
    def tensor_names(
        self,
        *,
        step: int | None = ...,
        mode: ModeKeys = ...,
        regex: str | Iterable[str] | None = ...,
        collection: str | Collection | None = ...,
    ) -> list[str]: ...
    def tensor(self, tname: str) -> ReadableTensor: ...
    def values(
        self,
        names: Iterable[str] | None = ...,
        mode: ModeKeys = ...,
        worker: str | None = ...,
        steps: Iterable[int] | None = ...,
    ) -> dict[str, dict[int, Array]]: ...
    def collections(self) -> Mapping[str, Collection]: ...
    @property
    def program(self) -> ProgramRecord | None: ...
    def problems(self) -> Sequence[Problem]: ...
