"""Every error and warning class of the package.

All errors derive from `DebugExtError`; most also derive from the built-in they resemble, so a caller may catch either.
Names and constructor arguments follow smdebug's exceptions, which existing scripts catch. Arguments are also
attributes of the same name. Errors are picklable because rules may run in worker processes: arguments are passed to
``super().__init__``, and ``__str__`` builds the message.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from sagemaker_debug_ext._printable import printable
from sagemaker_debug_ext.vocabulary import ModeKeys

_BRIEF_LENGTH: Final = 100


def brief(value: object) -> str:
    """Return the `repr` of a value for an error message: on one line, truncated if it is long."""
    text = " ".join(line.strip() for line in repr(value).splitlines())
    return text if len(text) <= _BRIEF_LENGTH else f"{text[:_BRIEF_LENGTH]}…"


def nearest(name: object, allowed: Iterable[str]) -> str | None:
    """Return the allowed name closest to `name`, ignoring case; None if no name is close.

    A prefix of an allowed name counts as close.
    """
    folded = {word.casefold(): word for word in allowed}
    given = str(name).casefold()
    close = get_close_matches(given, folded, n=1, cutoff=0.6)
    close = close or [word for word in folded if given and word.startswith(given)]
    return folded[close[0]] if close else None


def did_you_mean(name: object, allowed: Iterable[str]) -> str:
    """Return a message suffix that suggests the allowed name closest to `name`; empty if no name is close."""
    found = nearest(name, allowed)
    return f"; did you mean {found!r}?" if found else ""


def meant_mode(mode: object) -> str:
    """Return a message suffix that suggests the `ModeKeys` member closest to `mode`; empty if none is close."""
    found = nearest(mode, ModeKeys.__members__)
    return f"; did you mean modes.{found}?" if found else ""


class DebugExtError(Exception):
    """Base class of all errors that this package raises. Control characters are escaped in the text of an error."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__str__" in vars(cls):
            cls.__str__ = _printable_str(cls.__str__)  # type: ignore[method-assign]

    def __str__(self) -> str:
        return printable(super().__str__())


def _printable_str(make_text: Callable[[DebugExtError], str]) -> Callable[[DebugExtError], str]:
    @functools.wraps(make_text)
    def __str__(self: DebugExtError) -> str:  # noqa: N807 - it replaces the method of that name
        return printable(make_text(self))

    return __str__


class SMDebugCustomerError(DebugExtError):
    """The user's own code or data is at fault."""


class SMDebugTypeError(DebugExtError, TypeError):
    """An argument or a value has the wrong type."""


class SMDebugValueError(DebugExtError, ValueError):
    """An argument or a configuration value is not allowed."""


class SMDebugRuntimeError(DebugExtError, RuntimeError):
    """The environment is not as required, for example because an output folder is already in use."""


class SettingTypeError(SMDebugTypeError, RuntimeError):
    """A setting of a job has the wrong type; the SageMaker SDK raises `RuntimeError` for it."""


class ConflictingSettingsError(SMDebugValueError, RuntimeError):
    """Settings of a job exclude each other; the SageMaker SDK raises `RuntimeError` for it."""


class ProfilingTypeError(SMDebugTypeError, AssertionError):
    """A setting of the profiler has the wrong type; the SageMaker SDK raises `AssertionError` for it."""


class ProfilingValueError(SMDebugValueError, AssertionError):
    """A setting of the profiler is not allowed; the SageMaker SDK raises `AssertionError` for it."""


@contextlib.contextmanager
def profiling_errors() -> Iterator[None]:
    """Raise `ProfilingTypeError` and `ProfilingValueError` for the errors of settings."""
    try:
        yield
    except SMDebugTypeError as error:
        raise ProfilingTypeError(*error.args) from error
    except SMDebugValueError as error:
        raise ProfilingValueError(*error.args) from error


class SMDebugNotImplementedError(DebugExtError, NotImplementedError):
    """The feature has been removed; the message names its replacement."""


class MissingDependencyError(DebugExtError, ImportError):
    """A required optional package is not installed.

    Args:
        package: Name of the package to install.
        needed_for: The feature that needs the package, as the subject of a sentence.
        extra: The extra of this package that installs it, if there is one.
        last_python: The last version of Python that the package runs on; None if it runs on all.
    """

    def __init__(
        self, package: str, needed_for: str, extra: str | None = None, last_python: tuple[int, int] | None = None
    ) -> None:
        super().__init__(package, needed_for, extra, last_python)
        self.package = package
        self.needed_for = needed_for
        self.extra = extra
        self.last_python = last_python

    def __str__(self) -> str:
        here = sys.version_info[:2]
        if self.last_python is not None and here > self.last_python:
            last, this = (".".join(map(str, version)) for version in (self.last_python, here))
            return (
                f"{self.needed_for} needs the package {self.package!r}, which runs on Python up to {last} "
                f"(this is Python {this})"
            )
        what = f"sagemaker_debug_ext[{self.extra}]" if self.extra else self.package
        return f"{self.needed_for} needs the package {self.package!r}: pip install {what!r}"


class InvalidCollectionConfiguration(DebugExtError):
    """A configured collection is not built in and selects no tensors.

    Raised by a hook at its first step.
    """

    def __init__(self, c_name: str, hint: str = "") -> None:
        super().__init__(c_name, hint)
        self.c_name = c_name
        self.hint = hint

    def __str__(self) -> str:
        return f"collection {self.c_name!r} selects no tensor: give it an include_regex or tensor names{self.hint}"


class MissingCollectionFiles(DebugExtError):
    """The job has ended, but some of its collection files are missing."""

    def __str__(self) -> str:
        return super().__str__() or "the trial has ended, but collection files are missing"


class IndexReaderException(DebugExtError):
    """An index file cannot be parsed, or its name does not follow the naming scheme of index files."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class CorruptRecordError(SMDebugRuntimeError):
    """Stored bytes are corrupt.

    Args:
        where: Key of the object, with the byte offset of the record if known.
        reason: The problem, with the value found and the value expected.
    """

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(where, reason)
        self.where = where
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


class TrialNotFoundError(DebugExtError, FileNotFoundError):
    """There is no trial at the path.

    Args:
        path: The path given.
        reason: The files that were expected and not found.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"no trial at {self.path!r}: {self.reason}"


class StorageError(DebugExtError, OSError):
    """The storage of a trial cannot be read or written: no access, no such bucket, or requests keep failing.

    Args:
        path: The path of the request.
        reason: The message of the storage, with advice if there is any.
        code: The error code of the storage, if it has one.
    """

    def __init__(self, path: str, reason: str, code: str = "") -> None:
        super().__init__(path, reason, code)
        self.path = path
        self.reason = reason
        self.code = code

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def _steps_near(steps: Sequence[int]) -> str:
    """Return a message suffix that names the saved steps around a missing one."""
    return f" (saved nearest to it: {' and '.join(map(str, steps))})" if steps else ""


class _StepError(DebugExtError):
    def __init__(self, step: int, mode: ModeKeys, near: Sequence[int] = ()) -> None:
        super().__init__(step, mode, tuple(near))
        self.step = step
        self.mode = mode
        self.near = tuple(near)


class StepUnavailable(_StepError):
    """The step was not saved, and it will not be.

    Args:
        step: The step.
        mode: The mode it counts in.
        near: The saved steps of that mode right before and after it.
    """

    def __str__(self) -> str:
        return f"step {self.step} of mode {self.mode.name} was not saved{_steps_near(self.near)}"


class StepNotYetAvailable(_StepError):
    """The step has not been saved yet, but it may still arrive.

    Args:
        step: The step.
        mode: The mode it counts in.
        near: The saved steps of that mode right before and after it.
    """

    def __str__(self) -> str:
        return f"step {self.step} of mode {self.mode.name} is not there yet{_steps_near(self.near)}"


class TensorUnavailable(DebugExtError):
    """No tensor with that name has been saved yet.

    Args:
        tname: The name given.
        known: The names of the saved tensors, if the caller knows them.
    """

    def __init__(self, tname: str, known: Sequence[str] = ()) -> None:
        super().__init__(tname, tuple(known))
        self.tname = tname
        self.known = tuple(known)

    def __str__(self) -> str:
        return f"tensor {self.tname!r} was not saved in this trial{did_you_mean(self.tname, self.known)}"


class TensorUnavailableForStep(DebugExtError):
    """The tensor, or its value, was not saved at that step.

    Attributes:
        has_reductions: Whether reductions of the tensor were saved at that step.
        near: The closest steps before and after it at which the tensor was saved.
    """

    def __init__(
        self,
        tname: str,
        step: int,
        mode: ModeKeys = ModeKeys.GLOBAL,
        has_reductions: bool = False,
        near: Sequence[int] = (),
    ) -> None:
        super().__init__(tname, step, mode, has_reductions, tuple(near))
        self.tname = tname
        self.step = step
        self.mode = mode
        self.has_reductions = has_reductions
        self.near = tuple(near)

    def __str__(self) -> str:
        hint = "; its reductions were, see Tensor.reduction_values()" if self.has_reductions else ""
        near = _steps_near(self.near)
        return f"tensor {self.tname!r} was not saved at step {self.step} of mode {self.mode.name}{near}{hint}"


class ShapeUnavailableForStep(DebugExtError):
    """Neither a shape nor a value of the tensor was saved at that step."""

    def __init__(self, tname: str, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> None:
        super().__init__(tname, step, mode)
        self.tname = tname
        self.step = step
        self.mode = mode

    def __str__(self) -> str:
        return f"no shape of tensor {self.tname!r} was saved at step {self.step} of mode {self.mode.name}"


class InvalidWorker(DebugExtError):
    """The worker did not write the tensor at that step.

    Args:
        worker: The name given.
        known: The workers that wrote it, if the caller knows them.
    """

    def __init__(self, worker: str, known: Sequence[str] = ()) -> None:
        super().__init__(worker, known)
        self.worker = worker
        self.known = tuple(known)

    def __str__(self) -> str:
        hint = f" (workers: {', '.join(self.known)})" if self.known else ""
        return f"invalid worker {self.worker!r}{hint}"


class NoMoreData(DebugExtError):
    """The job ended before the awaited step.

    Args:
        step: The awaited step.
        mode: The mode that `step` counts in.
        last_step: The last saved step of that mode; None if there is none.
    """

    def __init__(self, step: int, mode: ModeKeys, last_step: int | None) -> None:
        super().__init__(step, mode, last_step)
        self.step = step
        self.mode = mode
        self.last_step = last_step

    @property
    def msg(self) -> str:
        """The text of the error."""
        return str(self)

    def __str__(self) -> str:
        return f"the job ended before step {self.step} of mode {self.mode.name}; its last step is {self.last_step}"


class NoMoreProfilerData(DebugExtError):
    """The profiler data end before the awaited timestamp."""

    def __init__(self, timestamp: int) -> None:
        super().__init__(timestamp)
        self.timestamp = timestamp

    @property
    def msg(self) -> str:
        """The text of the error."""
        return str(self)

    def __str__(self) -> str:
        return f"the profiler data end before {self.timestamp}"


class RuleEvaluationConditionMet(DebugExtError):
    """A rule fired.

    The message is the one in SageMaker's status details of a rule, so that users find it in a search.
    """

    def __init__(self, rule_name: str, step: int, end_of_rule: bool = False) -> None:
        super().__init__(rule_name, step, end_of_rule)
        self.rule_name = rule_name
        self.step = step
        self.end_of_rule = end_of_rule

    def __str__(self) -> str:
        return f"Evaluation of the rule {self.rule_name} at step {self.step} resulted in the condition being met"


class NoVerdict(DebugExtError):
    """A rule has nothing to evaluate at a step, which evaluations and `invoke_rule` skip.

    Args:
        rule_name: The rule.
        step: The global step.
        reason: What is missing; empty if the rule does not say.
    """

    def __init__(self, rule_name: str, step: int, reason: str = "") -> None:
        super().__init__(rule_name, step, reason)
        self.rule_name = rule_name
        self.step = step
        self.reason = reason

    def __str__(self) -> str:
        return f"rule {self.rule_name} has nothing to evaluate at step {self.step}{self.reason and ': '}{self.reason}"


class InsufficientInformationForRuleInvocation(DebugExtError):
    """The parameters of a rule do not determine which tensors it inspects."""

    def __init__(self, rule_name: str, message: str) -> None:
        super().__init__(rule_name, message)
        self.rule_name = rule_name
        self.message = message

    def __str__(self) -> str:
        return f"rule {self.rule_name}: {self.message}"


class RequestValidationError(DebugExtError, ValueError, RuntimeError):
    """SageMaker would reject a CreateTrainingJob request or the configuration behind it.

    The SageMaker SDK raises `ValueError` for some of these problems and `RuntimeError` for others.

    Args:
        problems: One line per problem; each starts with the path of the member.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(tuple(problems))
        self.problems = tuple(problems)

    def __str__(self) -> str:
        count = len(self.problems)
        head = "1 problem" if count == 1 else f"{count} problems"
        return "\n".join([f"{head} in the request:", *(f"- {problem}" for problem in self.problems)])


class JobSpecError(SMDebugValueError):
    """The job spec of a self-managed job is missing in part, was changed, or is too large."""


class TrainingJobError(SMDebugRuntimeError):
    """A training job run on this machine failed.

    Args:
        job_name: The job.
        reason: The cause, with the last lines of the script's output if they help.
    """

    def __init__(self, job_name: str, reason: str) -> None:
        super().__init__(job_name, reason)
        self.job_name = job_name
        self.reason = reason

    def __str__(self) -> str:
        return f"training job {self.job_name!r} failed: {self.reason}"


class DebugExtWarning(UserWarning):
    """Base class of all warnings of this package."""
