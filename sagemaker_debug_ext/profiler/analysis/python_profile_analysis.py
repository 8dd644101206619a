"""Statistics of Python functions over steps, times, modes or parts of a job."""

from __future__ import annotations

import abc
import json
import os
import pstats
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.profiler.analysis.python_stats_reader import (
    LocalPythonStatsReader,
    PythonStatsReader,
    S3PythonStatsReader,
)
from sagemaker_debug_ext.profiler.analysis.utils.python_profile_analysis_utils import (
    PyinstrumentStepStats,
    StepPythonProfileStats,
    cProfileStats,
)
from sagemaker_debug_ext.profiler.profiler_constants import (
    CPROFILE_NAME,
    PYINSTRUMENT_HTML_FILENAME,
    PYINSTRUMENT_NAME,
)
from sagemaker_debug_ext.profiler.python_profile_utils import PythonProfileModes, StepPhase

if TYPE_CHECKING:
    import pandas as pd

_NOTHING_FOUND: Final = "No stats were found for the requested interval!"
_COLUMNS: Final = (
    "profiler_name",
    "framework",
    "node_id",
    "start_mode",
    "start_step",
    "start_phase",
    "start_time_since_epoch_in_micros",
    "end_mode",
    "end_step",
    "end_phase",
    "end_time_since_epoch_in_micros",
    "stats_path",
)

_Stats = TypeVar("_Stats")
_Choice = Callable[[StepPythonProfileStats], bool]


class PythonProfileAnalysis(abc.ABC, Generic[_Stats]):
    """Selects spans of Python profiles. Use one of the subclasses.

    Every query takes `node_id`, a worker such as ``41-algo-1`` or ``any`` for the first one with such a span, and
    `refresh_stats`, whether to look for new spans first. A query without a result prints that and returns None.

    Args:
        local_profile_dir: The folder ``framework/<framework>/<profiler>``; with `s3_path` the folder that profiles are
            fetched into.
        s3_path: Address of the folder ``profiler-output``.

    Attributes:
        python_profile_stats: The spans found so far.
    """

    name: ClassVar[str] = ""

    def __init__(
        self,
        local_profile_dir: str | os.PathLike[str] = "/tmp/python_stats",  # noqa: S108 - smdebug's default
        s3_path: str | None = None,
    ) -> None:
        folder = os.fspath(local_profile_dir)
        self.python_stats_reader: PythonStatsReader
        if s3_path is None:
            assert os.path.isdir(folder), "The provided stats directory does not exist!"
            self.python_stats_reader = LocalPythonStatsReader(folder)
        else:
            self.python_stats_reader = S3PythonStatsReader(os.path.join(folder, "python_stats"), s3_path)
        self.python_profile_stats: list[StepPythonProfileStats] = self.python_stats_reader.load_python_profile_stats()

    def fetch_profile_stats_by_step(
        self,
        start_step: int,
        end_step: int | None = None,
        mode: PythonProfileModes = PythonProfileModes.TRAIN,
        start_phase: StepPhase = StepPhase.STEP_START,
        end_phase: StepPhase = StepPhase.STEP_END,
        node_id: str = "any",
        refresh_stats: bool = True,
    ) -> _Stats | None:
        """Return the statistics of some steps of a mode.

        Args:
            start_step: First step.
            end_step: Last step, inclusive; `start_step` by default.
            mode: The mode in which steps are counted.
            start_phase: The point of the first step from which on spans count.
            end_phase: The point of the last step up to which spans count.
            node_id: See the class.
            refresh_stats: See the class.
        """
        last = start_step if end_step is None else end_step
        return self._fetch(
            lambda span: (
                span.has_start_and_end_mode(mode, mode)
                and span.in_step_interval(start_step, last, start_phase, end_phase)
            ),
            node_id,
            refresh_stats,
        )

    def fetch_profile_stats_by_time(
        self,
        start_time_since_epoch_in_secs: float,
        end_time_since_epoch_in_secs: float,
        node_id: str = "any",
        refresh_stats: bool = True,
    ) -> _Stats | None:
        """Return the statistics of the spans that overlap an interval, in seconds since 1970."""
        start_us, end_us = start_time_since_epoch_in_secs * 1e6, end_time_since_epoch_in_secs * 1e6
        return self._fetch(lambda span: span.in_time_interval(start_us, end_us), node_id, refresh_stats)

    # The developer guide has these names.
    fetch_python_profile_stats_by_step = fetch_profile_stats_by_step
    fetch_python_profile_stats_by_time = fetch_profile_stats_by_time

    def fetch_profile_stats_between_modes(
        self,
        start_mode: PythonProfileModes,
        end_mode: PythonProfileModes,
        node_id: str = "any",
        refresh_stats: bool = True,
    ) -> _Stats | None:
        """Return the statistics of the spans that begin in one mode and end in another."""
        return self._fetch(lambda span: span.has_start_and_end_mode(start_mode, end_mode), node_id, refresh_stats)

    def fetch_pre_step_zero_profile_stats(self, node_id: str = "any", refresh_stats: bool = True) -> _Stats | None:
        """Return the statistics from the creation of the hook to step 0."""
        return self._fetch(StepPythonProfileStats.has_pre_step_zero_profile_stats, node_id, refresh_stats)

    def fetch_post_hook_close_profile_stats(self, node_id: str = "any", refresh_stats: bool = True) -> _Stats | None:
        """Return the statistics from the end of the hook to the end of the process."""
        return self._fetch(StepPythonProfileStats.has_post_hook_close_profile_stats, node_id, refresh_stats)

    def list_profile_stats(self, refresh_stats: bool = True) -> pd.DataFrame:
        """Return a table with a row for each span; the step is -1 before step 0, and infinity after the last one.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        pandas = import_optional("pandas", "list_profile_stats", "analysis")
        spans = self._spans("any", refresh_stats)
        if not spans:
            print(_NOTHING_FOUND)
        table: pd.DataFrame = pandas.DataFrame([span.as_row() for span in spans], columns=list(_COLUMNS))
        return table

    def list_available_node_ids(self, refresh_stats: bool = True) -> list[str]:
        """Return the workers, sorted."""
        return sorted({span.node_id for span in self._spans("any", refresh_stats)})

    def _spans(self, node_id: str, refresh_stats: bool) -> list[StepPythonProfileStats]:
        if refresh_stats or not self.python_profile_stats:
            self.python_profile_stats = self.python_stats_reader.load_python_profile_stats()
        return [
            span for span in self.python_profile_stats if span.profiler_name == self.name and span.has_node_id(node_id)
        ]

    def _fetch(self, choice: _Choice, node_id: str, refresh_stats: bool) -> _Stats | None:
        chosen = [span for span in self._spans(node_id, refresh_stats) if choice(span)]
        if not chosen:
            print(_NOTHING_FOUND)
            return None
        return self._combine([span for span in chosen if span.node_id == chosen[0].node_id])

    @abc.abstractmethod
    def _combine(self, spans: Sequence[StepPythonProfileStats]) -> _Stats:
        """Return the statistics of several spans together."""


class cProfileAnalysis(PythonProfileAnalysis[cProfileStats]):  # noqa: N801 - smdebug's name
    """Sums statistics of cProfile.

    The files are in Python's `marshal` format: open only those of jobs that you trust.
    """

    name = CPROFILE_NAME

    def fetch_profile_stats_by_training_phase(
        self, node_id: str = "any", refresh_stats: bool = True
    ) -> dict[tuple[PythonProfileModes, PythonProfileModes], cProfileStats]:
        """Return the statistics for each pair of modes in which spans begin and end."""
        return self._group(lambda span: (span.start.mode, span.end.mode), node_id, refresh_stats)

    def fetch_profile_stats_by_job_phase(
        self, node_id: str = "any", refresh_stats: bool = True
    ) -> dict[str, cProfileStats]:
        """Return the statistics of the phases ``initialization``, ``training_loop`` and ``finalization``."""
        return self._group(_job_phase, node_id, refresh_stats)

    def _group(self, key: Callable[[StepPythonProfileStats], Any], node_id: str, refresh_stats: bool) -> dict[Any, Any]:
        spans = self._spans(node_id, refresh_stats)
        groups: dict[Any, list[StepPythonProfileStats]] = {}
        for span in spans:
            if span.node_id == spans[0].node_id:
                groups.setdefault(key(span), []).append(span)
        return {group: self._combine(members) for group, members in groups.items()}

    def _combine(self, spans: Sequence[StepPythonProfileStats]) -> cProfileStats:
        return cProfileStats(pstats.Stats(*(span.stats_path for span in spans)))


class PyinstrumentAnalysis(PythonProfileAnalysis[list[PyinstrumentStepStats]]):
    """Reads statistics of Pyinstrument."""

    name = PYINSTRUMENT_NAME

    def _combine(self, spans: Sequence[StepPythonProfileStats]) -> list[PyinstrumentStepStats]:
        return [_read_pyinstrument(span.stats_path) for span in spans]


def _job_phase(span: StepPythonProfileStats) -> str:
    if span.has_post_hook_close_profile_stats():
        return "finalization"
    return "initialization" if span.has_pre_step_zero_profile_stats() else "training_loop"


def _read_pyinstrument(json_path: str) -> PyinstrumentStepStats:
    page = os.path.join(os.path.dirname(json_path), PYINSTRUMENT_HTML_FILENAME)
    try:
        with open(json_path, encoding="utf-8") as file:
            stats = json.load(file)
    except ValueError as error:
        raise SMDebugValueError(f"{json_path}: not JSON: {error}") from error
    return PyinstrumentStepStats(page if os.path.exists(page) else "", stats)
