"""`RuleProcess`: evaluates the rules of several trials in a separate process, which reports in lines of JSON.

Neither slow rules nor the lock of the interpreter therefore delay the display.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from sagemaker_debug_ext.looking.live.rule_choice import RuleChoice
from sagemaker_debug_ext.looking.material import Verdict
from sagemaker_debug_ext.rules.evaluation.status import RuleStatus
from sagemaker_debug_ext.rules.explain import Explanation
from sagemaker_debug_ext.rules.issue import Issue

CHILD_MODULE: Final = "sagemaker_debug_ext.looking.live.rule_worker"
_END_SECONDS: Final = 2.0


class _Known:
    """The last report of the process about the rules of a trial."""

    def __init__(self) -> None:
        self.issues: list[Issue] = []
        self.statuses: tuple[RuleStatus, ...] = ()
        self.explanations: dict[str, Explanation] = {}
        self.error = ""
        self.has_ended = False

    def take(self, message: Mapping[str, Any]) -> None:
        if "issue" in message:
            self.issues.append(Issue.from_json_dict(message["issue"]))
        if "statuses" in message:
            self.statuses = tuple(RuleStatus(**status) for status in message["statuses"])
        if "explanations" in message:
            described = message["explanations"]
            self.explanations = {name: Explanation.from_json_dict(described[name]) for name in described}
        if "error" in message:
            self.error = f"its rules do not run: {message['error']}"
        self.has_ended |= "error" in message or "ended" in message


class RuleProcess:
    """Evaluates the rules of trials in a separate process.

    Args:
        paths: Folders or URLs of the trials.
        choice: The rules.
        on_news: Called with the number of a trial after something new is known of it, from another thread.
    """

    def __init__(self, paths: Sequence[str], choice: RuleChoice, on_news: Callable[[int], object]) -> None:
        self._known = [_Known() for _ in paths]
        self._on_news = on_news
        self._lock = threading.Lock()
        self._process = subprocess.Popen(  # noqa: S603 - our own module, in the same interpreter
            [sys.executable, "-m", CHILD_MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # an interruption of this program is not one of the process
        )
        assert self._process.stdin is not None  # it is a pipe
        request = {"paths": list(paths), "choice": attrs.asdict(choice)}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        threading.Thread(target=self._listen, name="rules", daemon=True).start()

    def verdict(self, number: int) -> Verdict:
        """Return what the rules have found so far in a trial, by its number."""
        with self._lock:
            known = self._known[number]
            return Verdict(tuple(known.issues), known.statuses, dict(known.explanations))

    def error(self, number: int) -> str:
        """Return why the rules of a trial do not run; empty if they do, or have ended."""
        return self._known[number].error

    def has_ended(self, number: int) -> bool:
        """Return whether the rules of a trial have ended."""
        return self._known[number].has_ended

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None  # as above
        with contextlib.suppress(OSError):  # the process has ended
            self._process.stdin.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _listen(self) -> None:
        assert self._process.stdout is not None  # it is a pipe
        with self._process.stdout as lines:
            for line in lines:
                message = json.loads(line)
                with self._lock:
                    self._known[message["trial"]].take(message)
                self._on_news(message["trial"])
        status = self._process.wait()
        for number, known in enumerate(self._known):
            if not known.has_ended:
                with self._lock:
                    known.take({"error": f"the process of the rules ended with status {status}"})
                self._on_news(number)
