"""`Board`: the data, issues and problems of several trials while their jobs run."""

from __future__ import annotations

import operator
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import attrs

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.looking.live.rule_choice import RuleChoice
from sagemaker_debug_ext.looking.live.rule_process import RuleProcess
from sagemaker_debug_ext.looking.material import Material, MaterialReader, Verdict
from sagemaker_debug_ext.looking.story import JobStateName, Story
from sagemaker_debug_ext.looking.telling import JOB_STATES, tell, trial_name
from sagemaker_debug_ext.trials.following import JobState
from sagemaker_debug_ext.trials.waiting import DEFAULT_POLL_SECONDS, DEFAULT_REMOTE_POLL_SECONDS

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

_LONGEST_PAUSE_SECONDS: Final = 5.0
_READING_SECONDS: Final = 0.25
"""Time for reading steps before what was read so far is shown; the first picture comes soon, and may be coarse."""

_REST: Final = 3.0
"""Pause after a look at a running job, as a multiple of its processor time: it takes a quarter of a core at most."""

_RATE_STEPS: Final = 20
_MAX_COLUMNS: Final = 1024
"""Limit of the columns of layers in memory; older steps share half of them, which are more than a picture has."""


@attrs.frozen(kw_only=True)
class Pulse:
    """The current state of a trial.

    Args:
        name: Name of the trial.
        state: State of the job; None if the trial cannot be read.
        last_step: The last step; None if there is none.
        steps_per_second: Rate at which steps come; None if it is not known.
        num_unread: Number of steps whose layers were not read yet.
        trouble: Why the trial cannot be read, or its rules do not run; empty if all is well.
    """

    name: str
    state: JobStateName | None
    last_step: int | None
    steps_per_second: float | None
    num_unread: int
    trouble: str


@attrs.frozen(eq=False, kw_only=True)
class Snapshot:
    """All trials at one moment.

    Args:
        version: Ascending number; a larger one is later.
        materials: The data of each trial.
        story: What they tell.
        pulses: How each is doing.
    """

    version: int
    materials: tuple[Material, ...]
    story: Story
    pulses: tuple[Pulse, ...]


class _Follower:
    """Reads one trial again and again."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.material: Material | None = None
        self.trouble = ""
        self.state = JobState.RUNNING
        self._reader = MaterialReader(trial, _MAX_COLUMNS)
        self._seen_news = -1
        self._times: list[tuple[float, int]] = []

    def look(self, verdict: Verdict | None, has_news: bool) -> bool:
        """Read new steps, and return whether there is anything new."""
        reader = self.trial.index_reader
        try:
            if reader.is_gone():
                raise FileNotFoundError("its folder is gone")
            reader.follow()
            seen, state = reader.num_news, self.trial.job_state()
            is_behind = self.material is not None and self.num_unread > 0
            is_known = (seen, state, self.trouble) == (self._seen_news, self.state, "")
            if is_known and not is_behind and not has_news:
                return False
            self.material = self._reader.read(verdict, _READING_SECONDS)
        except (OSError, DebugExtError) as error:
            trouble = f"{self.trial.path} cannot be read any more: {error}"
            has_changed, self.trouble = trouble != self.trouble, trouble
            return has_changed
        self._seen_news, self.state, self.trouble = seen, state, ""
        self._note_time()
        return True

    def has_read_all(self) -> bool:
        """Return whether the job has ended, or died, and all of it was read."""
        return (
            self.material is not None
            and not self.trouble
            and not self.num_unread
            and self.state is not JobState.RUNNING
        )

    @property
    def num_unread(self) -> int:
        """Number of steps whose layers were not read yet."""
        measures = self.material.measures if self.material else None
        return measures.num_steps - measures.num_read if measures else 0

    def pulse(self, trouble: str) -> Pulse:
        """Return the current state of the trial."""
        begin, end = (self._times[0], self._times[-1]) if self._times else ((0.0, 0), (time.monotonic(), 0))
        seconds = end[0] - begin[0]
        state = JOB_STATES[self.state]
        return Pulse(
            name=trial_name(self.trial),
            state=None if self.trouble else state,
            last_step=end[1] if self._times else None,
            steps_per_second=(end[1] - begin[1]) / seconds if seconds > 0 and state == "running" else None,
            num_unread=self.num_unread,
            trouble=self.trouble or trouble,
        )

    def _note_time(self) -> None:
        step = self.trial.last_complete_step
        if step >= 0 and (not self._times or step != self._times[-1][1]):
            self._times = [*self._times[-_RATE_STEPS:], (time.monotonic(), step)]


class Board:
    """Trials that are followed in threads of their own, while a `RuleProcess` runs their rules.

    Args:
        trials: The trials.
        choice: The rules; None for none.
    """

    def __init__(self, trials: Sequence[Trial], choice: RuleChoice | None) -> None:
        self._followers = [_Follower(trial) for trial in trials]
        self._changed = threading.Condition()
        self._version = 0
        self._snapshot: Snapshot | None = None
        self._telling = threading.Lock()
        self._stopping = threading.Event()
        self._woken = [threading.Event() for _ in trials]
        self._is_done = [False] * len(trials)
        self._listeners: list[Callable[[], object]] = []
        self._rule_process = (
            RuleProcess([trial.path for trial in trials], choice, self._wake) if choice is not None else None
        )
        self._threads = [
            threading.Thread(target=self._follow, args=(number,), name=f"follow {number}", daemon=True)
            for number in range(len(trials))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def version(self) -> int:
        """Version of the snapshot; 0 until all trials were read once."""
        return self._version

    def add_listener(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call a function after every change, from another thread, and return a function that ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def wait(self, version: int, timeout_seconds: float | None = None) -> bool:
        """Wait for a later version, and return whether there is one."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._version > version or self._stopping.is_set(), timeout_seconds
            ) and (self._version > version)

    def snapshot(self) -> Snapshot:
        """Return the latest snapshot; there must be a version."""
        with self._telling:
            version = self._version
            if self._snapshot is None or self._snapshot.version < version:
                materials = tuple(follower.material for follower in self._followers if follower.material is not None)
                self._snapshot = Snapshot(
                    version=version, materials=materials, story=tell(materials), pulses=self.pulses()
                )
            return self._snapshot

    def pulses(self) -> tuple[Pulse, ...]:
        """Return the current state of each trial."""
        return tuple(follower.pulse(self._error(number)) for number, follower in enumerate(self._followers))

    def has_ended(self) -> bool:
        """Return whether all jobs and all rules have ended, and all of it is known."""
        return all(self._is_done)

    def wait_for_rules(self, quiet_seconds: float = 2.0) -> None:
        """Wait until all was read and rules have evaluated the steps that there are: until nothing new comes."""
        self.wait(0)
        while not self.has_ended() and not self._stopping.is_set():
            version = self._version
            is_quiet = not self.wait(version, quiet_seconds)
            if is_quiet and all(map(self._has_statuses, range(len(self._followers)))):
                return

    def close(self) -> None:
        """Stop following, and end the rules."""
        self._stopping.set()
        for woken in self._woken:
            woken.set()
        with self._changed:
            self._changed.notify_all()
        if self._rule_process is not None:
            self._rule_process.close()
        for thread in self._threads:
            thread.join(_LONGEST_PAUSE_SECONDS)

    def _has_statuses(self, number: int) -> bool:
        """Return whether the rules of a trial have begun, or never will."""
        process = self._rule_process
        return process is None or process.has_ended(number) or bool(process.verdict(number).statuses)

    def _error(self, number: int) -> str:
        return self._rule_process.error(number) if self._rule_process is not None else ""

    def _wake(self, number: int) -> None:
        self._woken[number].set()

    def _follow(self, number: int) -> None:
        follower, woken = self._followers[number], self._woken[number]
        is_remote = "://" in follower.trial.path
        poll_seconds = DEFAULT_REMOTE_POLL_SECONDS if is_remote else DEFAULT_POLL_SECONDS
        while not self._stopping.is_set():
            began = time.thread_time()
            has_news = woken.is_set()
            woken.clear()
            rules_have_ended = self._rule_process is None or self._rule_process.has_ended(number)
            verdict = self._rule_process.verdict(number) if self._rule_process is not None else None
            if follower.look(verdict, has_news) and self._is_known():
                self._publish()
            self._is_done[number] = rules_have_ended and follower.has_read_all()
            if follower.state is not JobState.ENDED:
                self._stopping.wait(min(_REST * (time.thread_time() - began), _LONGEST_PAUSE_SECONDS))
            woken.wait(poll_seconds)

    def _is_known(self) -> bool:
        """Return whether every trial was read, as far as it can be."""
        is_known = [follower.material is not None for follower in self._followers]
        return any(is_known) and all(map(operator.or_, is_known, (bool(f.trouble) for f in self._followers)))

    def _publish(self) -> None:
        with self._changed:
            self._version += 1
            self._changed.notify_all()
        for listener in tuple(self._listeners):
            listener()
