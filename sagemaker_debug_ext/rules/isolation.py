"""Rules in processes of their own, so that a faulty one cannot harm the engine or the other rules.

A rule that runs in the engine's process can raise without harm, but not hang, run out of memory or crash the
interpreter: a thread that hangs in C code cannot be ended, and may hold a lock of the trial. So a rule that is not
trusted gets a process: it opens the trial anew, evaluates the steps it is sent, and is killed when it takes too long.
The two talk in lines of JSON, so that nothing a rule returns is executed here.
"""

from __future__ import annotations

import contextlib
import json
import math
import numbers
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Final

import attrs

from sagemaker_debug_ext import errors
from sagemaker_debug_ext.errors import (
    DebugExtError,
    NoVerdict,
    RuleEvaluationConditionMet,
    SMDebugCustomerError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)
from sagemaker_debug_ext.rules.base import Rule
from sagemaker_debug_ext.rules.factory.reference import RuleReference
from sagemaker_debug_ext.rules.issue import Issue

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

CHILD_MODULE: Final = "sagemaker_debug_ext.rules.isolation_worker"
SHUTDOWN_TIMEOUT_SECONDS: Final = 5.0
"""Time that a process gets to end on request."""


def _positive(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:  # noqa: ARG001
    if value is None:
        return
    if not isinstance(value, numbers.Real):
        raise SMDebugTypeError(f"{attribute.name} must be a number (got {value!r})")
    if not (float(value) > 0 and math.isfinite(value)):
        raise SMDebugValueError(f"{attribute.name} must be above 0 (got {value!r})")


@attrs.frozen(kw_only=True)
class Isolation:
    """Limits of a rule in a process of its own.

    Args:
        timeout_seconds: Longest time for one step.
        startup_seconds: Longest time to start the process, load the rule and open the trial.
        memory_bytes: Memory it may allocate, where the system can limit that (Linux); None sets no limit.

    Raises:
        SMDebugTypeError: One of them is no number.
        SMDebugValueError: One of them is not above 0.
    """

    timeout_seconds: float = attrs.field(default=60.0, validator=_positive)
    startup_seconds: float = attrs.field(default=60.0, validator=_positive)
    memory_bytes: int | None = attrs.field(default=4 * 2**30, validator=_positive)


class IsolatedRule(Rule):
    """Stands for a rule in a process of its own. Made by `create_rule` and `create_custom_rule`.

    Args:
        base_trial: The trial to check, which the process opens by its path.
        reference: The rule, with parameters that JSON can hold.
        isolation: What the process may use.
        smdebug_alias: Whether ``import smdebug`` gives this package in the process.

    Raises:
        DebugExtError: What was raised when the rule was made.
        SMDebugRuntimeError: The process did not get ready.
    """

    def __init__(
        self, base_trial: Trial, reference: RuleReference, isolation: Isolation, *, smdebug_alias: bool = False
    ) -> None:
        super().__init__(base_trial)
        self._isolation = isolation
        self._watches_waiting = False
        self._finishes = False
        self._process: subprocess.Popen[bytes] | None = _start()
        self._unread = b""
        request = {
            "rule": attrs.asdict(reference),
            "trial_path": base_trial.path,
            "smdebug_alias": smdebug_alias,
            "memory_bytes": isolation.memory_bytes,
        }
        answer = self._ask(request, isolation.startup_seconds)
        self.rule_name = str(answer["rule_name"])
        self._watches_waiting = bool(answer["watches_waiting"])
        self._finishes = bool(answer["finishes"])
        self.unless_learnt = answer["unless_learnt"]

    def invoke_at_step(self, step: int) -> bool:
        """Return whether the rule fires at a global step."""
        return bool(self.issues_at(step))

    def issues_at(self, step: int) -> list[Issue]:
        """Evaluate one step in the process.

        Raises:
            NoVerdict: The rule cannot evaluate the step.
            RuleEvaluationConditionMet: The rule raised it.
            DebugExtError: The rule raised an error of this package.
            SMDebugCustomerError: It raised something else, whose class name the error has.
            SMDebugRuntimeError: It took too long, or its process ended.
        """
        answer = self._ask({"step": int(step)}, self._isolation.timeout_seconds)
        if "no_verdict" in answer:
            raise NoVerdict(self.rule_name, step, str(answer["no_verdict"]))
        if "met" in answer:
            raise RuleEvaluationConditionMet(self.rule_name, step, bool(answer["met"]))
        return [Issue.from_json_dict(issue) for issue in answer["issues"]]

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issues of the rule, if it implements this method."""
        if not self._watches_waiting:
            return []
        return [
            Issue.from_json_dict(issue)
            for issue in self._ask({"waiting": True}, self._isolation.timeout_seconds)["issues"]
        ]

    def evaluation_ended(self) -> None:
        """Finish the rule, and end the process."""
        try:
            if self._process is not None and self._finishes:
                self._ask({"end": self.output_path}, self._isolation.timeout_seconds)
        finally:
            self.close()

    def close(self) -> None:
        """End the process at once, even during a call."""
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # closing flushes, which fails if the process has ended
                _stream(stream).close()
        try:
            process.wait(SHUTDOWN_TIMEOUT_SECONDS if process.poll() is None else 0)
        except subprocess.TimeoutExpired:
            _kill(process)

    def __del__(self) -> None:
        if getattr(self, "_process", None) is not None:
            self.close()

    def _ask(self, request: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        if self._process is None:
            raise SMDebugRuntimeError(f"the process of rule {self.rule_name} has ended")
        try:
            stream = _stream(self._process.stdin)
            stream.write(json.dumps(request).encode() + b"\n")
            stream.flush()
            answer: dict[str, Any] = json.loads(self._read_line(timeout_seconds))
        except (OSError, ValueError, SMDebugRuntimeError) as error:
            process = self._process
            _kill(process)
            self.close()
            if isinstance(error, SMDebugRuntimeError):
                raise
            raise SMDebugRuntimeError(f"the process of rule {self.rule_name} ended {_how(process)}") from error
        if "error" in answer:
            raise _error(answer["error"])
        return answer

    def _read_line(self, timeout_seconds: float) -> bytes:
        """Return the next line that the process writes.

        Raises:
            SMDebugRuntimeError: It takes too long.
            EOFError: The process has ended.
        """
        assert self._process is not None  # the caller has looked
        descriptor = _stream(self._process.stdout).fileno()
        deadline = time.monotonic() + timeout_seconds
        while b"\n" not in self._unread:
            ready, _, _ = select.select([descriptor], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise SMDebugRuntimeError(
                    f"rule {self.rule_name} took longer than {timeout_seconds:g} seconds, and was ended"
                )
            part = os.read(descriptor, 2**16)
            if not part:
                raise OSError("end of file")
            self._unread += part
        line, _, self._unread = self._unread.partition(b"\n")
        return line


def _start() -> subprocess.Popen[bytes]:
    # in a process group of its own, so that processes that the rule started end with it
    return subprocess.Popen(  # noqa: S603 - our own module, in the same interpreter
        [sys.executable, "-m", CHILD_MODULE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended already
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _how(process: subprocess.Popen[bytes]) -> str:
    status = process.returncode
    if status is None or status >= 0:
        return f"with exit status {status}"
    return f"by signal {signal.Signals(-status).name}"


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # both are pipes
    return stream


def _error(described: Mapping[str, str]) -> DebugExtError:
    """Return the error that the process described."""
    kind, text = described["class"], described["text"]
    known = getattr(errors, kind, None)
    if known in (SMDebugValueError, errors.SMDebugTypeError, SMDebugCustomerError, SMDebugRuntimeError):
        found: DebugExtError = known(text)
        return found
    # a class of the same name as the rule's own error, because users search for that name
    same_name = type(kind, (SMDebugCustomerError,), {"__doc__": "What a rule raised in another process."})
    error: DebugExtError = same_name(text)
    return error


def check_json(parameters: Mapping[str, Any], rule_name: str) -> dict[str, Any]:
    """Return the parameters if JSON can hold them.

    Raises:
        SMDebugValueError: One of them cannot be sent to another process.
    """
    for name, value in parameters.items():
        if not isinstance(value, (str, int, float, bool, type(None))) and not _is_plain_list(value):
            raise SMDebugValueError(
                f"parameter {name!r} of rule {rule_name} must be text, a number or a list of them to be sent to a "
                f"process of its own (got {value!r})"
            )
    return dict(parameters)


def _is_plain_list(value: object) -> bool:
    is_list = isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray))
    return is_list and all(isinstance(item, (str, int, float, bool)) for item in value)  # type: ignore[attr-defined]
