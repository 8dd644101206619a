"""Bring the index in memory up to date with the index files of a trial."""

from __future__ import annotations

from sagemaker_debug_ext.errors import IndexReaderException
from sagemaker_debug_ext.store.backends.base import Backend
from sagemaker_debug_ext.store.keys import StepFile, parse_index_key
from sagemaker_debug_ext.store.reader import list_index, read_index
from sagemaker_debug_ext.trials.index import TrialIndex
from sagemaker_debug_ext.trials.problems import Problems
from sagemaker_debug_ext.trials.ranges import StepRange


class IndexReader:
    """Reads the index files that are new or have changed since the last time, whatever their step.

    A file that cannot be read is noted as a problem and tried again when it changes.

    Args:
        backend: Where the trial lies.
        index: What to fill.
        problems: Where to note what cannot be read.
        step_range: Files of other global steps are passed over.
    """

    def __init__(self, backend: Backend, index: TrialIndex, problems: Problems, step_range: StepRange) -> None:
        self._backend = backend
        self._index = index
        self._problems = problems
        self._step_range = step_range
        self._versions: dict[str, str] = {}

    def refresh(self) -> set[int]:
        """Read what is new.

        Returns:
            The global steps that changed.
        """
        changed_steps = set()
        for info in list_index(self._backend):
            if self._versions.get(info.key) == info.version:
                continue
            try:
                step_file = self._read(info.key)
            except IndexReaderException as error:
                self._problems.note(info.key, error.message)
            except OSError as error:
                self._problems.note(info.key, f"cannot be read: {error}")
                continue  # not remembered as read: what the system refuses now it may grant the next time
            else:
                self._problems.forget(info.key)
                if step_file is not None:
                    changed_steps.add(step_file.step)
            self._versions[info.key] = info.version
        return changed_steps

    def _read(self, key: str) -> StepFile | None:
        step_file = parse_index_key(key)
        if step_file.step not in self._step_range:
            return None
        self._index.add(*step_file, read_index(self._backend, key))
        return step_file
