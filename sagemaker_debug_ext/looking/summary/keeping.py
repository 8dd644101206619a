"""Write the summary of a trial into the trial, and read it if it is of the present files.

smdebug ignores the object. What it lacks, such as the verdict of other rules, is read from the trial.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import attrs

from sagemaker_debug_ext import __version__
from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.looking.material import Material, gather, run_rules
from sagemaker_debug_ext.looking.summary.content import DAMAGE, Summary
from sagemaker_debug_ext.rules.recommended import recommended_rules
from sagemaker_debug_ext.store.backends.base import Backend, Buffer
from sagemaker_debug_ext.store.consolidated.fingerprint import Fingerprint
from sagemaker_debug_ext.store.format.index import Location
from sagemaker_debug_ext.store.format.keys import SUMMARY_KEY
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.store.reader import EventReader
from sagemaker_debug_ext.trials import Trial

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.base import Rule

LOG: Final = logging.getLogger(__name__)

_MAX_BYTES: Final = 64 << 20
"""Limit of the parts of event files in a summary; further ones are read from the trial."""

_OWN_RULES: Final = "sagemaker_debug_ext.rules."


def make_summary(trial: Trial, draw: Callable[[Material], object]) -> int:
    """Write the summary of a trial, with the verdict of the recommended rules, replacing an earlier summary.

    Args:
        trial: The trial.
        draw: Draws the views of a trial; what they read themselves becomes part of the summary.

    Returns:
        Size of the summary in bytes.

    Raises:
        SMDebugRuntimeError: A file of the trial cannot be used, or the trial changes meanwhile.
        OSError: The back end failed.
    """
    backend = trial.index_reader.events.backend
    files = Fingerprint.of(backend, reads_files=True)
    judged, drawn = (Trial(trial.name, backend, wait_seconds=0) for _ in range(2))
    rules = recommended_rules(judged)
    material = gather(judged, run_rules(judged, rules), math.inf)
    drawn.index_reader.events = reader = _NotingReader(backend)
    draw(attrs.evolve(material, trial=drawn))
    problem = next(iter((*judged.problems(), *drawn.problems())), None)
    if problem is not None:
        raise SMDebugRuntimeError(f"a summary needs a trial whose files can all be read: {problem}")
    if Fingerprint.of(backend).versions != files.versions:
        raise SMDebugRuntimeError(f"a summary needs a trial that does not change: {trial.path}")
    described = describe_rules(rules)
    assert described is not None  # they are rules of this package
    content = Summary(label=__version__, files=files, rules=described, material=material, parts=reader.parts()).encode()
    backend.write(SUMMARY_KEY, [content])
    return len(content)


def find_summary(trial: Trial) -> Summary | None:
    """Return the summary of a trial; None if there is none of its present files by this version of the package.

    The trial does not read the parts of event files in the summary again.
    """
    backend = trial.index_reader.events.backend
    if trial.range_steps is not None:
        return None
    try:
        content = backend.read(SUMMARY_KEY)
        if content is None:
            return None
        summary = Summary.decode(bytes(content), trial)
        is_usable = summary.label == __version__ and summary.files.is_of_same_files(Fingerprint.of(backend))
    except (OSError, *DAMAGE) as error:
        LOG.debug("the summary of %s is not used: %s", trial.path, error)
        return None
    if not is_usable:
        LOG.debug("the summary of %s is not used: it is of other files or of another version", trial.path)
        return None
    for event_file, start, part in summary.parts:
        trial.index_reader.events.give(event_file, start, part)
    return summary


def describe_rules(rules: Mapping[str, Rule]) -> list[list[str]] | None:
    """Return what the verdict of rules depends on; None if that is not known, or if a rule has actions."""
    described = []
    for name, rule in rules.items():
        kind, parameters = type(rule), getattr(rule, "parameters", None)
        if not kind.__module__.startswith(_OWN_RULES) or parameters is None or rule.other_trials or rule.actions.names:
            return None
        described.append([name, kind.__module__, kind.__qualname__, repr(sorted(parameters.items()))])
    return described


class _NotingReader(EventReader):
    """Remembers the parts of event files that it has read, up to a limit."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._parts: dict[tuple[str, int, int], bytes] = {}
        self._num_bytes = 0

    def parts(self) -> list[tuple[str, int, bytes]]:
        """Return event file, start and content of each part."""
        return [(event_file, start, part) for (event_file, start, _), part in sorted(self._parts.items())]

    def decode(self, record: Buffer, event_file: str, location: Location, name: str, step: int) -> Array:
        """Return the value of a record, which is remembered."""
        self._note(event_file, location.start, record)
        return super().decode(record, event_file, location, name, step)

    def read_spans(self, spans: Sequence[tuple[str, int, int]], file_end: int) -> list[Buffer | OSError | None]:
        """Return parts of event files, which are remembered."""
        found = super().read_spans(spans, file_end)
        for (event_file, start, _), part in zip(spans, found, strict=True):
            if part is not None and not isinstance(part, OSError):
                self._note(event_file, start, part)
        return found

    def _note(self, event_file: str, start: int, part: Buffer) -> None:
        place = (event_file, start, start + len(part))
        if place not in self._parts and self._num_bytes + len(part) <= _MAX_BYTES:
            self._parts[place] = bytes(part)
            self._num_bytes += len(part)
