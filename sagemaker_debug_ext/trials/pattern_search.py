"""Search patterns that come from a trial's files, in bounded time.

Python's search may take longer than anyone waits for some patterns, and cannot be interrupted. A pattern whose form
bounds its cost is searched here. Any other one is searched in a worker process, which the system ends after a limit of
processor time. Python's own engine searches both, so that members of collections are the same as in training.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import math
import os
import re
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, Final

_MAX_LENGTH: Final = 1000
_MAX_COST: Final = 1_000_000
"""Upper bound on the attempts of a search in this process: some 20 ms."""

_UNBOUNDED: Final = re.compile(r"\)[*+?{]|\(\?(?![:=!])|\\[0-9]")
"""Repeated groups, back references, and groups other than plain ones and look-aheads."""

_QUANTIFIER: Final = re.compile(r"(?<!\()[*+?{]")

_SEARCH_SECONDS: Final = 1.0
"""Processor time for one name in the worker."""

_PATTERN_SECONDS: Final = 10.0
_TRIAL_SECONDS: Final = 30.0
"""Time for all names, for one pattern and for all patterns of a trial."""

_ANSWER_SECONDS: Final = 60.0
_MAX_KEPT: Final = 1 << 17
"""Most answers that are kept, so that no name is searched twice."""

_MEMORY_BYTES: Final = 1 << 30

_WORKER: Final = """
import contextlib, json, re, resource, signal, sys
with contextlib.suppress(OSError, ValueError):
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
for line in sys.stdin:
    pattern, name = json.loads(line)
    signal.setitimer(signal.ITIMER_VIRTUAL, float(sys.argv[1]))
    try:
        answer = str(re.search(pattern, name) is not None)
    except (re.error, RecursionError, OverflowError, MemoryError):
        answer = ""
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    print(answer, flush=True)
"""


def max_cost(pattern: str, length: int) -> float:
    """Return an upper bound on the attempts of searching a pattern in a name of a length; infinity if there is none.

    Each quantifier multiplies the attempts by at most the length, and so do the places to begin at. Alternatives add
    up, but multiply where groups may follow each other.
    """
    if len(pattern) > _MAX_LENGTH or _UNBOUNDED.search(pattern):
        return math.inf
    alternatives = pattern.split("|")
    num_quantifiers = [len(_QUANTIFIER.findall(alternative)) for alternative in alternatives]
    if "(" in pattern:
        num_quantifiers, num_paths = [sum(num_quantifiers)], 2.0 ** (len(alternatives) - 1)
    else:
        num_paths = len(alternatives)
    return num_paths * float(max(length, 1)) ** min(max(num_quantifiers) + 1, 50)


@functools.lru_cache(maxsize=1 << 12)
def max_cheap_length(pattern: str) -> int:
    """Return the length of the longest names in which a pattern is searched in this process; 0 if it never is."""
    length = 0
    for step in (1 << exponent for exponent in range(16, -1, -1)):
        if max_cost(pattern, length + step) <= _MAX_COST:
            length += step
    return length


def is_cheap(pattern: str) -> bool:
    """Return whether a pattern may be compiled, and searched in short names, in this process."""
    return max_cheap_length(pattern) > 0


class PatternSearch:
    """Searches the patterns of one trial, and gives up those that take too long. May be used from several threads.

    Searching one name takes at most a second of processor time, one pattern 10 s, and all patterns of a trial 30 s. A
    pattern that reaches its limit finds no more names.

    Args:
        on_refused: Called once for each pattern that is not searched, with the pattern and the reason.
    """

    def __init__(self, on_refused: Callable[[str, str], object]) -> None:
        self._on_refused = on_refused
        self._refused: set[str] = set()
        self._known: dict[tuple[str, str], bool] = {}
        self._seconds: dict[str, float] = {}
        self._total_seconds = 0.0

    def search(self, pattern: str, name: str) -> bool:
        """Return whether a pattern is found in a name; False if the pattern is not searched."""
        known = self._known.get((pattern, name))
        if known is not None:
            return known
        if pattern in self._refused:
            return False
        if self._total_seconds > _TRIAL_SECONDS:
            self._refuse(pattern, f"the patterns of this trial take longer than {_TRIAL_SECONDS:g} s")
            return False
        if len(self._known) >= _MAX_KEPT:  # what was searched before is searched again, within the same limits
            self._known.clear()
            self._seconds.clear()
            self._total_seconds = 0.0
        found = self._known[pattern, name] = self._search(pattern, name)
        return found

    def _search(self, pattern: str, name: str) -> bool:
        began_at = time.perf_counter()
        is_here = len(name) <= max_cheap_length(pattern)
        found = re.search(pattern, name) is not None if is_here else _worker.search(pattern, name)
        seconds = time.perf_counter() - began_at
        self._total_seconds += seconds
        self._seconds[pattern] = self._seconds.get(pattern, 0.0) + seconds
        if isinstance(found, str):
            self._refuse(pattern, found)
            return False
        if self._seconds[pattern] > _PATTERN_SECONDS:
            self._refuse(pattern, f"it takes longer than {_PATTERN_SECONDS:g} s")
        return found

    def _refuse(self, pattern: str, reason: str) -> None:
        if pattern not in self._refused:
            self._refused.add(pattern)
            self._on_refused(pattern, reason)


class _Worker:
    """A process of its own that searches, started when first needed and again after the system has ended it."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start anew in a forked process, which shares neither the process nor a lock that another thread held."""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def search(self, pattern: str, name: str) -> bool | str:
        """Return whether a pattern is found in a name, or why that cannot be told."""
        with self._lock:
            try:
                answer = self._ask(json.dumps([pattern, name]))
            except OSError as error:
                self._end()
                return f"no process can be started for it: {error}"
            if not answer:
                self._end()
                return f"searching one name takes longer than {_SEARCH_SECONDS:g} s"
        return answer == "True\n" if answer != "\n" else "it is not a regular expression that Python can search"

    def _ask(self, question: str) -> str:
        """Return the line that the worker answers; empty if it has ended or takes too long."""
        if self._process is None:
            command = [sys.executable, "-I", "-S", "-c", _WORKER, str(_SEARCH_SECONDS), str(_MEMORY_BYTES)]
            self._process = subprocess.Popen(  # noqa: S603 - Python itself, and a program of this module
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        questions, answers = _pipes(self._process)
        try:
            questions.write(question + "\n")
            questions.flush()
        except BrokenPipeError:
            return ""
        ready, _, _ = select.select([answers], [], [], _ANSWER_SECONDS)
        return answers.readline() if ready else ""

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            questions, answers = _pipes(process)
            answers.close()
            with contextlib.suppress(BrokenPipeError):  # a question that was not sent
                questions.close()

    def stop(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            self._end()


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


_worker = _Worker()
atexit.register(_worker.stop)
os.register_at_fork(after_in_child=_worker.forget)
