"""The names of a trial's files, under the module path from which scripts for Debugger build them."""

from __future__ import annotations

import os
import re
from typing import Final

import attrs

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext.errors import IndexReaderException
from sagemaker_debug_ext.store.format.keys import (
    EVENTS_PREFIX,
    INDEX_PREFIX,
    STEPS_PER_INDEX_FOLDER,
    index_key,
    join_event_key,
    mangle_worker,
    parse_event_key,
)
from sagemaker_debug_ext.vocabulary import ModeKeys

__all__ = ["EventFileLocation", "IndexFileLocationUtils", "TensorFileLocation", "TensorboardFileLocation"]

STEP_NUMBER_FORMATTING_LENGTH: Final = "012"


@attrs.frozen
class EventFileLocation:
    """The file of one worker at one step.

    Args:
        step_num: Global step.
        worker_name: The worker.
    """

    step_num: int = attrs.field(converter=int)
    worker_name: str

    def get_step_num_str(self) -> str:
        """Return the step as it stands in names of files."""
        return format(self.step_num, STEP_NUMBER_FORMATTING_LENGTH)

    def get_filename(self) -> str:
        """Return the name of the file, without its folder."""
        return f"{self.get_step_num_str()}_{self.worker_name}.tfevents"

    @classmethod
    def load_filename(cls, s: str, print_error: bool = True) -> EventFileLocation | None:  # noqa: ARG003 - part of the API
        """Return the location that a path names; None if it is not that of an event file."""
        try:
            return cls(*parse_event_key(s))
        except IndexReaderException:
            return None

    @classmethod
    def match_regex(cls, s: str) -> EventFileLocation | None:
        """Return the location that a path names; None if it is not that of an event file."""
        return cls.load_filename(s)


class TensorFileLocation(EventFileLocation):
    """The file with the tensors of one worker at one step."""

    @staticmethod
    def get_dir(trial_dir: str) -> str:
        """Return the folder of a trial's event files."""
        return os.path.join(trial_dir, EVENTS_PREFIX.rstrip("/"))

    @classmethod
    def get_step_dir_path(cls, trial_dir: str, step_num: int) -> str:
        """Return the folder of the event files of a step."""
        return f"{cls.get_dir(trial_dir)}/{int(step_num):{STEP_NUMBER_FORMATTING_LENGTH}}"

    def get_file_location(self, trial_dir: str = "") -> str:
        """Return the path of the file, relative to the trial if no folder or URL of a trial is given."""
        return os.path.join(trial_dir, join_event_key(self.step_num, mangle_worker(self.worker_name)))


@attrs.frozen
class TensorboardFileLocation(EventFileLocation):
    """The file that TensorBoard shows for one worker and mode.

    Args:
        mode: The mode.
    """

    mode: ModeKeys | None = None

    def get_file_location(self, base_dir: str = "") -> str:
        """Return the path of the file, below ``tensorboard`` if no folder is given."""
        return os.path.join(base_dir or "tensorboard", (self.mode or ModeKeys.GLOBAL).name, self.get_filename())


class IndexFileLocationUtils:
    """Functions on the names of index files."""

    MAX_INDEX_FILE_NUM_IN_INDEX_PREFIX: Final = STEPS_PER_INDEX_FOLDER

    @staticmethod
    def get_index_prefix_for_step(step_num: int) -> str:
        """Return the name of the folder, within the index, of a step's files."""
        return f"{step_num // STEPS_PER_INDEX_FOLDER:09d}"

    @staticmethod
    def next_index_prefix_for_step(step_num: int) -> str:
        """Return the name of the folder after that of a step's files."""
        return f"{step_num // STEPS_PER_INDEX_FOLDER + 1:09d}"

    @staticmethod
    def get_index_key_for_step(trial_prefix: str, step_num: int, worker_name: str) -> str:
        """Return the path of the index file of a worker at a global step."""
        return os.path.join(trial_prefix, index_key(step_num, worker_name))

    @staticmethod
    def parse_step_from_index_file_name(index_file_name: str) -> int:
        """Return the global step from the path of an index file."""
        return int(index_file_name.rpartition("/")[2].partition("_")[0])

    @staticmethod
    def get_index_path(path: str) -> str:
        """Return the folder of a trial's index."""
        return os.path.join(path, INDEX_PREFIX.rstrip("/"))

    @staticmethod
    def get_prefix_from_index_file(index_file: str) -> str:
        """Return the folder or URL of the trial that an index file belongs to.

        Raises:
            IndexReaderException: The path is not that of an index file.
        """
        found = re.match(rf"(.+)/{INDEX_PREFIX}.+$", index_file)
        if found is None:
            raise IndexReaderException(f"not the path of an index file: {index_file!r}")
        return found[1]


__path__: list[str] = []  # further names come from the table of public names
__getattr__ = lazy_names(__name__)
