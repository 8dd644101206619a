"""Training jobs on this machine: `run_training_job` and `LocalTrainingJob`."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext._printable import html_table
from sagemaker_debug_ext.errors import (
    DebugExtError,
    IndexReaderException,
    SMDebugRuntimeError,
    SMDebugValueError,
    TrainingJobError,
)
from sagemaker_debug_ext.local.channels import link_channels
from sagemaker_debug_ext.local.description import Description, JobLock, job_arn
from sagemaker_debug_ext.local.environment import job_environment
from sagemaker_debug_ext.local.evaluation import LocalEvaluation
from sagemaker_debug_ext.local.events import (
    EventHandler,
    EventPrinter,
    EventQueue,
    LinePrinted,
    StatusChanged,
    StepSaved,
)
from sagemaker_debug_ext.local.layout import create_folders, remove_folders
from sagemaker_debug_ext.local.plan import JobHost, plan_job
from sagemaker_debug_ext.local.process import JobProcess, LineReader, failure_reason
from sagemaker_debug_ext.local.profiling import LocalProfilerEvaluation, profiler_folder, start_job_sampler
from sagemaker_debug_ext.local.source import install_source
from sagemaker_debug_ext.local.sync import ArtifactSync
from sagemaker_debug_ext.profiler.timeline.start import timeline_environment
from sagemaker_debug_ext.requests import artifact_paths
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.folder_sync import write_object
from sagemaker_debug_ext.store.format.keys import INDEX_PREFIX, parse_index_key
from sagemaker_debug_ext.store.reader import read_index
from sagemaker_debug_ext.watch.evaluation import is_described, now

if TYPE_CHECKING:
    from sagemaker_debug_ext.looking import Story
    from sagemaker_debug_ext.store.backends import Backend, ObjectInfo
    from sagemaker_debug_ext.trials import Trial

STOP_GRACE_SECONDS: Final = 120.0
"""Time that SageMaker gives a job to shut down after a stop request."""

_LOG: Final = logging.getLogger(__name__)
_POLL_SECONDS: Final = 0.1
_MAX_POLL_SECONDS: Final = 2.0
_WAKE_SECONDS: Final = 1.0
_SHARE_OF_TIME: Final = 0.1  # maximum share of one core for finding new files


def run_training_job(
    request: Mapping[str, Any],
    work_dir: str | os.PathLike[str],
    *,
    on_event: EventHandler | None = None,
    progress: bool | None = None,
    python: str = sys.executable,
    stop_grace_seconds: float = STOP_GRACE_SECONDS,
    check: bool = True,
    wait: bool = True,
    report: str | os.PathLike[str] | None = None,
) -> LocalTrainingJob:
    """Run a CreateTrainingJob request on this machine.

    Args:
        request: The request that would be sent to AWS.
        work_dir: The work folder: ``jobs/<job name>`` becomes the job's folder, ``s3/<bucket>/<key>`` stands for S3.
        on_event: Called with every event, in order, from a separate thread; it must not wait for the job. Its errors
            are logged.
        progress: Print changes of status, rules that fire, actions and some of the saved steps to standard error. None
            prints them on a terminal or in a notebook, if `on_event` is not given.
        python: Interpreter for the user's code.
        stop_grace_seconds: Time between the stop request and the kill of the entry point.
        check: Reject requests that SageMaker would reject. Otherwise, local folders are accepted as S3 locations.
        wait: Return after the job has ended and its rules are evaluated, instead of at once. An interruption, such as
            Ctrl-C, stops the job.
        report: File to write a report of the trial to when the job has ended, also if it failed; see
            `LocalTrainingJob.write_report`. If the job saved no tensors, a warning says so instead.

    Returns:
        The job.

    Raises:
        RequestValidationError: SageMaker would reject the request, or it cannot run here. The error lists all reasons.
        SMDebugRuntimeError: The name is in use, or the job cannot be prepared; nothing is left of it.
        TrainingJobError: The job failed; only when waiting.
        SMDebugValueError: A report is asked for without waiting.
    """
    if report is not None and not wait:
        raise SMDebugValueError(f"report needs wait=True; call write_report of the job later (got {report!r})")
    if progress is None:
        progress = on_event is None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    if progress:
        on_event = _both(EventPrinter(), on_event)
    job = LocalTrainingJob(
        request, work_dir, on_event=on_event, python=python, stop_grace_seconds=stop_grace_seconds, check=check
    )
    if not wait:
        job.start()
        return job
    with job:  # entered before the start, because an interruption may come as soon as a process runs
        job.start()
        try:
            job.wait()
        except TrainingJobError:
            _try_to_report(job, report)
            raise
    _try_to_report(job, report)
    return job


def _both(first: EventHandler, second: EventHandler | None) -> EventHandler:
    return first if second is None else lambda event: (first(event), second(event))


def _try_to_report(job: LocalTrainingJob, path: str | os.PathLike[str] | None) -> None:
    if path is None:
        return
    try:
        story = job.write_report(path)
    except (DebugExtError, OSError) as error:
        _LOG.warning("training job %s: the report was not written: %s", job.name, error)
    else:
        _LOG.info("training job %s: %s See %s", job.name, story.headline, os.fspath(path))


class LocalTrainingJob:
    """One training job of this machine; the arguments are those of `run_training_job`, and the job's `JobHost`.

    Methods and properties are thread-safe. A started job runs until it ends, even if nobody waits for it, but does not
    outlive the process that started it. As a context manager, it is stopped at the end of the block.
    """

    def __init__(
        self,
        request: Mapping[str, Any],
        work_dir: str | os.PathLike[str],
        *,
        on_event: EventHandler | None = None,
        python: str = sys.executable,
        stop_grace_seconds: float = STOP_GRACE_SECONDS,
        check: bool = True,
        host: JobHost | None = None,
    ) -> None:
        if not stop_grace_seconds >= 0:
            raise SMDebugValueError(f"stop_grace_seconds must be a number of at least 0 (got {stop_grace_seconds!r})")
        self._plan: Final = plan_job(request, work_dir, python, check, host)
        self._request: Final = self._plan.request
        self._folder: Final = self._plan.folder
        self._grace_seconds: Final = stop_grace_seconds
        self._events = EventQueue(on_event)
        self._started = False
        self._state_lock = threading.RLock()  # guards the following four attributes
        self._description = Description(self._request, self._folder, self._status_changed)
        self._stop_as: str | None = None  # the final SecondaryStatus after a stop request
        self._stop_within = stop_grace_seconds
        self._concluding = False  # whether nothing is left to stop
        self._wake = threading.Event()  # wakes the job's thread before its next poll
        self._ended = threading.Event()
        self._shipping = ArtifactSync(self._request, self._folder, self._plan.locations)
        self._shipping_problem = ""
        self._evaluations = LocalEvaluation(
            self._request,
            self._plan.locations,
            on_event=self._events.put,
            on_status=self._rules_changed,
            stop_job=self.stop,
        )
        self._profiler_evaluations = LocalProfilerEvaluation(
            self._request,
            self.profiler_path,
            self._plan.locations,
            on_event=self._events.put,
            on_status=self._profiler_rules_changed,
        )

    @property
    def name(self) -> str:
        """The job's name."""
        return self._plan.name

    @property
    def folder(self) -> Path:
        """The job's folder."""
        return self._folder.root

    @property
    def debugger_artifacts_path(self) -> str | None:
        """S3 location of the trial, as on AWS; None without a ``DebugHookConfig``."""
        return artifact_paths(self._request).debugger

    @property
    def trial_path(self) -> Path | None:
        """The local folder for `debugger_artifacts_path`."""
        location = self.debugger_artifacts_path
        return None if location is None else self._plan.locations.path(location)

    @property
    def profiler_path(self) -> Path | None:
        """The local folder of profiler data; None if the request disables the profiler."""
        return profiler_folder(self._request, self._folder, self._plan.locations)

    def trial(self) -> Trial:
        """Open the trial of the job. While the job runs, wait until it has begun to save.

        Raises:
            SMDebugRuntimeError: The job saves no tensors.
            TrialNotFoundError: The job was not started, or has ended without saving tensors.
            MissingCollectionFiles: The job has ended before it saved a step.
        """
        from sagemaker_debug_ext.trials import create_trial  # noqa: PLC0415 - a job without rules needs no trial

        location = self.debugger_artifacts_path
        if location is None:
            raise SMDebugRuntimeError(f"training job {self.name!r} has no DebugHookConfig, so it saves no trial")
        backend = self._plan.locations.backend(location)
        if self._started and not (self._ended.is_set() or is_described(backend)):
            _LOG.warning("waiting for training job %s: it has saved nothing yet; interrupt to stop", self.name)
            while not (self._ended.wait(_POLL_SECONDS) or is_described(backend)):
                pass
        return create_trial(self._plan.locations.url(location), name=self.name, wait_seconds=0)

    def write_report(self, path: str | os.PathLike[str]) -> Story:
        """Write what the job saved so far as a page in one file, evaluated by the rules that suit most jobs.

        Args:
            path: The file to write.

        Returns:
            The story that the page tells.

        Raises:
            SMDebugRuntimeError: The job saves no tensors.
            TrialNotFoundError: The job was not started, or has ended without saving tensors.
            MissingCollectionFiles: The job has ended before it saved a step.
            OSError: The file cannot be written.
        """
        from sagemaker_debug_ext.looking import write_report  # noqa: PLC0415 - only a job with a report needs it

        return write_report([self.trial()], path)

    def describe(self) -> dict[str, Any]:
        """Return the ``describe_training_job`` response of boto3, without ``ResponseMetadata``."""
        with self._state_lock:
            return self._description.snapshot()

    def update(self, **members: Any) -> None:
        """Set members of the description; a change of ``ProfilerConfig`` also reaches the job's configuration file."""
        with self._state_lock:
            self._description.update(**members)
        if self._started and "ProfilerConfig" in members:
            content = self._folder.relocate(members["ProfilerConfig"])
            file = self._folder.profiler_config
            write_object(LocalBackend(file.parent), file.name, [json.dumps(content).encode()])

    def start(self) -> None:
        """Prepare the job and start its entry point.

        Raises:
            SMDebugRuntimeError: The name is in use, or the job cannot be prepared; nothing is left of it.
        """
        try:
            self._start()
        except OSError as error:
            raise SMDebugRuntimeError(f"training job {self.name!r} could not be prepared: {error}") from error

    def _start(self) -> None:
        root = self._folder.root
        root.parent.mkdir(parents=True, exist_ok=True)
        try:
            root.mkdir()
        except FileExistsError as error:
            raise SMDebugRuntimeError(
                f"training job {self.name!r} already exists, in {str(root)!r}: choose another name"
            ) from error
        with contextlib.ExitStack() as undo:
            undo.callback(shutil.rmtree, root)
            lock = JobLock(self._folder)
            undo.callback(lock.release)
            self._description.reserve()
            self._events.start()
            undo.callback(self._events.close)
            self._shipping.check_unused()
            self._move("InProgress", "Starting")
            process = self._launch()
            self._move("InProgress", "Training", TrainingStartTime=now())
            self._evaluations.start()
            self._profiler_evaluations.start()
            undo.pop_all()
        self._started = True
        threading.Thread(target=self._run, args=(process, lock), name=f"training-job-{self.name}").start()

    def stop(self, grace_seconds: float | None = None) -> bool:
        """Ask the entry point to shut down, and kill it if it does not.

        The call does not wait. Further calls can shorten the grace period, but not extend it.

        Args:
            grace_seconds: Grace period; the job's by default.

        Returns:
            Whether there was something to stop.
        """
        return self._ask_to_stop("Stopped", self._grace_seconds if grace_seconds is None else grace_seconds)

    def interrupt(self) -> bool:
        """Kill the entry point as if its machine were taken away, and start the job again, as on Spot instances.

        Of its files, the new container has the checkpoints that were copied to S3. The call does not wait.

        Returns:
            Whether the job was training.
        """
        with self._state_lock:
            if self._concluding or self._description.secondary_status != "Training":
                return False
            self._move("InProgress", "Interrupted")
        self._wake.set()
        return True

    def wait(self, timeout: float | None = None) -> dict[str, Any]:
        """Wait until the job has ended and its rules are evaluated, and return its description.

        Args:
            timeout: Maximum time to wait in seconds; None for no limit.

        Raises:
            TrainingJobError: The job failed.
            TimeoutError: The job has not ended in time.
            SMDebugRuntimeError: The job was not started.
        """
        if not self._started:
            raise SMDebugRuntimeError(f"training job {self.name!r} was not started")
        if not self._wait_for_end(timeout):
            raise TimeoutError(f"training job {self.name!r} has not ended within {timeout} seconds")
        description = self.describe()
        if description["TrainingJobStatus"] == "Failed":
            raise TrainingJobError(self.name, description["FailureReason"])
        return description

    def __repr__(self) -> str:
        status = self.describe()["TrainingJobStatus"] if self._started else "not started"
        return f"<LocalTrainingJob {self.name!r}: {status}, in {os.fspath(self.folder)!r}>"

    def _repr_html_(self) -> str:
        description = self.describe() if self._started else {}
        facts = [("status", description.get("TrainingJobStatus", "not started")), ("folder", os.fspath(self.folder))]
        rules = [
            (rule["RuleConfigurationName"], rule["RuleEvaluationStatus"], rule.get("StatusDetails", ""))
            for rule in description.get("DebugRuleEvaluationStatuses", ())
        ]
        table = html_table(facts, caption=f"training job {self.name!r}")
        return table + html_table(rules, ("rule", "status", "details")) if rules else table

    def __enter__(self) -> LocalTrainingJob:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._started or self._ended.is_set():
            return
        with contextlib.ExitStack() as interrupted:
            interrupted.callback(self.stop, grace_seconds=0.0)  # because a second interrupt must not wait
            self._evaluations.cancel()
            self._profiler_evaluations.cancel()
            self.stop()
            self._wait_for_end()
            interrupted.pop_all()

    def _wait_for_end(self, timeout: float | None = None) -> bool:
        """Wait until the job has ended, and return whether it has.

        The system may give the signal of a Ctrl-C to any thread, and the main one, which handles it, sees that only
        when it wakes. So it wakes now and then.
        """
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while not self._ended.wait(min(_WAKE_SECONDS, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                return False
        return True

    def _launch(self) -> JobProcess:
        """Prepare a container and start its entry point, and return the process."""
        create_folders(self._request, self._folder)
        self._proceed("Downloading")
        link_channels(self._request, self._folder, self._plan.locations)
        self._shipping.fetch_checkpoints()
        install_source(self._request, self._folder, self._plan.locations)
        environment = job_environment(
            self._request,
            self._folder,
            arn=job_arn(self._request),
            python=self._plan.python,
            inherited=self._plan.inherited,
        )
        if self.profiler_path is not None:
            environment = timeline_environment(self.profiler_path, environment)
        return JobProcess(
            self._plan.command,
            cwd=self._folder.code,
            environment=environment,
            stdout=self._folder.stdout,
            stderr=self._folder.stderr,
        )

    def _run(self, process: JobProcess, lock: JobLock) -> None:
        """Monitor the process until it ends, and finish the job; runs in the job's own thread."""
        sampler = start_job_sampler(self._request, self._folder, self._plan.locations)
        code: int | None = None
        lines = {"stdout": LineReader(self._folder.stdout), "stderr": LineReader(self._folder.stderr)}
        limit = self._plan.max_runtime_seconds
        deadline = math.inf if limit is None else time.monotonic() + limit
        try:
            code = self._follow(process, lines, deadline)
            while self._goes_on():
                self._proceed("Starting")
                remove_folders(self._request, self._folder)
                process = self._launch()
                self._proceed("Training")
                code = self._follow(process, lines, deadline)
            if sampler is not None:
                sampler.stop(code)
            self._profiler_evaluations.finish()
            self._conclude(code)
        except Exception as error:  # noqa: BLE001 - the end of the thread: who waits must hear of whatever it was
            _LOG.exception("running training job %s failed", self.name)
            with self._state_lock:
                self._concluding = True
            process.stop(0.0)
            process.wait()
            self._evaluations.cancel()
            self._move("Failed", "Failed", f"InternalServerError: {error}")
        finally:
            if sampler is not None:
                sampler.stop(code)
            self._profiler_evaluations.finish()
            self._profiler_evaluations.join()
            self._evaluations.join()
            self._description.release()
            lock.release()
            self._events.close()
            self._ended.set()

    def _follow(self, process: JobProcess, lines: Mapping[str, LineReader], deadline: float) -> int:
        """Sync files, forward output and enforce the time limit until all processes end; return the exit code."""
        asked_within: float | None = None
        while True:
            self._wake.clear()
            code = process.poll()
            begun = time.monotonic()
            if self._stop_as is None and begun >= deadline:
                self._ask_to_stop("MaxRuntimeExceeded", self._grace_seconds)
            if self._stop_as is not None and self._stop_within != asked_within:
                asked_within = self._stop_within
                process.stop(asked_within)
            if self._description.secondary_status == "Interrupted":
                process.stop(0.0)
            else:
                self._try_to_ship()
            for stream, reader in lines.items():
                for text in reader.read(last=code is not None):
                    self._events.put(LinePrinted(job_name=self.name, stream=stream, text=text))
            if code is not None:
                return code
            used = time.monotonic() - begun
            self._wake.wait(min(max(_POLL_SECONDS, used / _SHARE_OF_TIME), _MAX_POLL_SECONDS))

    def _goes_on(self) -> bool:
        """Return whether the job was interrupted and starts again; otherwise, nothing is left to stop."""
        with self._state_lock:
            self._concluding = self._description.secondary_status != "Interrupted"
            return not self._concluding

    def _conclude(self, code: int) -> None:
        """Copy the outputs and end the job."""
        stopped_as = self._stop_as
        if stopped_as is None:
            self._move("InProgress", "Uploading")
        failed = code != 0 and stopped_as is None
        reason = failure_reason(self._folder, code) if failed else ""
        members: dict[str, Any] = {}
        try:
            self._show_steps(self._shipping.ship(final=True))
            model = self._shipping.ship_output(with_model=not failed)
            if model is not None:
                members["ModelArtifacts"] = {"S3ModelArtifacts": model}
        except SMDebugRuntimeError as error:
            if not self._shipping.trial_has_ended():
                self._evaluations.cancel()  # they would wait for the end of the trial
            failed, reason = True, reason or f"InternalServerError: {error}"
        if failed:
            self._move("Failed", "Failed", reason, **members)
        elif stopped_as is not None:
            self._move("Stopped", stopped_as, **members)
        else:
            self._move("Completed", "Completed", **members)

    def _ask_to_stop(self, stop_as: str, grace_seconds: float) -> bool:
        with self._state_lock:
            if self._concluding:
                return False
            if self._stop_as is None:
                self._stop_as = stop_as
                self._stop_within = grace_seconds
                self._move("Stopping", "Stopping")
            self._stop_within = min(self._stop_within, grace_seconds)
        self._wake.set()
        return True

    def _try_to_ship(self) -> None:
        try:
            self._show_steps(self._shipping.ship())
        except SMDebugRuntimeError as error:
            # The next round retries; files that cannot be copied when the job has ended make it fail.
            if str(error) != self._shipping_problem:
                _LOG.warning("training job %s: %s", self.name, error)
            self._shipping_problem = str(error)

    def _show_steps(self, shipped: list[ObjectInfo]) -> None:
        trial = self._shipping.tensors
        if trial is None:
            return
        for info in shipped:
            if info.key.startswith(INDEX_PREFIX):
                event = _step_saved(self.name, trial.target, info.key)
                if event is not None:
                    self._events.put(event)

    def _proceed(self, secondary_status: str) -> None:
        """Change the secondary status, unless the job was asked to stop."""
        with self._state_lock:
            if self._stop_as is None:
                self._move("InProgress", secondary_status)

    def _move(self, status: str, secondary_status: str, reason: str = "", **members: Any) -> None:
        with self._state_lock:
            self._description.move(status, secondary_status, reason, **members)

    def _status_changed(self, status: str, secondary_status: str, reason: str) -> None:
        self._events.put(
            StatusChanged(job_name=self.name, status=status, secondary_status=secondary_status, reason=reason)
        )

    def _profiler_rules_changed(self, statuses: list[dict[str, Any]]) -> None:
        with self._state_lock:
            self._description.update(ProfilerRuleEvaluationStatuses=statuses)

    def _rules_changed(self, statuses: list[dict[str, Any]]) -> None:
        with self._state_lock:
            self._description.update(DebugRuleEvaluationStatuses=statuses)


def _step_saved(job_name: str, trial: Backend, index_key: str) -> StepSaved | None:
    try:
        step, worker = parse_index_key(index_key)
        index = read_index(trial, index_key)
    except IndexReaderException as error:
        _LOG.warning("training job %s wrote an invalid index file: %s", job_name, error)
        return None
    size = sum(location.length for location in index.tensors.values())
    return StepSaved(
        job_name=job_name,
        step=step,
        mode=index.mode,
        mode_step=index.mode_step,
        worker=worker,
        tensors=len(index.tensors),
        size=size,
    )
