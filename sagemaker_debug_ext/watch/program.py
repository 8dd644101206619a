"""The watcher of a self-managed job: ``python -m sagemaker_debug_ext.watch.program``.

It reads the job spec from the environment, waits for the trial on S3, evaluates the rules while the job trains, writes
``status.json`` and the results, and carries out actions. It exits with 0 after the last rule, or at once if another
watcher holds the lease, and with 3 if another one has taken over.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import json
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import botocore.exceptions

from sagemaker_debug_ext._json import JSONObject
from sagemaker_debug_ext._s3_urls import SCHEME
from sagemaker_debug_ext.config.job_spec import CLUSTER_VARIABLE, SPEC_KEY, JobSpec, job_name, job_spec_of_container
from sagemaker_debug_ext.config.self_managed import PLACES
from sagemaker_debug_ext.errors import DebugExtError, JobSpecError
from sagemaker_debug_ext.rules.action import aws_client
from sagemaker_debug_ext.store.backends import Backend, open_backend
from sagemaker_debug_ext.store.job_end import has_ended, write_end
from sagemaker_debug_ext.store.settling import SettlingBackend
from sagemaker_debug_ext.watch.actions import JobActions
from sagemaker_debug_ext.watch.described import spec_of_description
from sagemaker_debug_ext.watch.evaluation import RuleEvaluations, RuleRecord, WatchedJob
from sagemaker_debug_ext.watch.events import EventOrigin, EventSender, status_event
from sagemaker_debug_ext.watch.lease import Lease
from sagemaker_debug_ext.watch.metrics import sent_metrics
from sagemaker_debug_ext.watch.mirror import JobMirror
from sagemaker_debug_ext.watch.probes import JobProbe, find_probe, wait_for_end
from sagemaker_debug_ext.watch.profiler_rules import ProfilerRuleEvaluations, ProfilerRuleRecord
from sagemaker_debug_ext.watch.scratch import scratch_folder
from sagemaker_debug_ext.watch.status import (
    HEARTBEAT_SECONDS,
    STATUS_KEY,
    VERSION,
    describe_profiler_rules,
    describe_rules,
)
from sagemaker_debug_ext.watch.storage import open_patiently

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules import Issue

LOG = logging.getLogger(__name__)

EXIT_DONE: Final = 0
EXIT_UNUSABLE: Final = 2
EXIT_TAKEN_OVER: Final = 3

PHASES: Final = ("following", "draining", "handover", "done")
"""Phases of a watcher, in the order in which they may come."""

LOG_PREFIX: Final = "SAGEMAKER_DEBUG_EXT"
"""Start of the line that is printed for each change of a rule's status, for programs that watch logs."""

MIN_PROFILER_POLL_SECONDS: Final = 1.0
"""Least time between two looks for profiler data, in which each rule lists files."""

_PARENT_LOOK_SECONDS: Final = 1.0
_OTHER_WORKERS_SECONDS: Final = 5.0
_COPY_SECONDS: Final = 300.0  # for files of a job without an end marker that SageMaker has yet to copy
_STOPPED_SECONDS: Final = 90.0
_ELSEWHERE_SECONDS: Final = 86_400.0  # nobody waits for the last evaluations
_OOM_SCORE: Final = 1000  # the kernel kills the watcher before training
_MIB: Final = 1 << 20


class Watcher:
    """Evaluates the rules of one self-managed job, and reports their statuses.

    Args:
        spec: The settings of the job.
        name: Name of the training job.
        lease: The lease, acquired.
        state: The folder of the job's state.
        actions: The actions of the rules.
        scratch: Local folder for files with rules.
        events: Sends changes of statuses to EventBridge; None sends none.
    """

    def __init__(
        self,
        spec: JobSpec,
        name: str,
        lease: Lease,
        state: Backend,
        actions: JobActions,
        scratch: Path,
        events: EventSender | None = None,
    ) -> None:
        self.ended = threading.Event()
        """Set when `run` has ended, so that threads which look at the job end, too."""
        self._name = name
        self._lease = lease
        self._state = state
        self._scratch = scratch
        self._trial = spec.trial_location(name)
        self._is_unordered = spec.ship == "checkpoint" and self._trial.startswith(SCHEME)
        self._copy: SettlingBackend | None = None
        self._is_copied = False
        self._started_at = _utc_now()
        self._sequence = 0
        self._phase = PHASES[0]
        self._phase_lock = threading.Lock()
        self._lock = threading.Lock()
        self._is_taken_over = False
        job = WatchedJob(
            name=name,
            rules=spec.rules,
            trial=self._trial,
            results=spec.rule_locations(name),
            fetch=self._fetch,
            open_trial=self._open_trial,
        )
        self._rules = RuleEvaluations(job, self, actions.handlers, spec.watch.poll_seconds)
        profile = spec.profile(name)
        self._profiler_rules = ProfilerRuleEvaluations(
            name,
            spec.profiler_rules,
            None if profile is None else profile.location,
            spec.rule_locations(name),
            self._profiler_status_changed,
            max(spec.watch.poll_seconds, MIN_PROFILER_POLL_SECONDS),
        )
        self._previous = {name: record.status.status for name, record in self._rules.records.items()}
        self._origin = EventOrigin(
            job_name=name,
            job_arn=os.environ.get("TRAINING_JOB_ARN", ""),
            status_uri=f"{spec.state_location(name)}/{STATUS_KEY}",
            generation=lease.generation,
        )
        self._actions = actions
        self._events = events
        copy = spec.copy_root
        self._mirror = (
            None if copy is None else JobMirror(f"{spec.root}/{name}", f"{copy}/{name}", spec.watch.poll_seconds)
        )

    def run(self) -> int:
        """Evaluate until every rule has ended, and the job is copied if it is; return the exit code."""
        try:
            return self._run()
        finally:
            self.ended.set()

    def _run(self) -> int:
        with self._heartbeat():
            self._report()
            if self._mirror is not None:
                self._mirror.start()
            self._profiler_rules.start()
            if self._rules.records:
                self._rules.run()
            self._profiler_rules.join()
            if self._mirror is not None:
                self._mirror.join()
        if self._events is not None:
            self._events.close()
        if self._is_taken_over:
            return EXIT_TAKEN_OVER
        if self._phase == "handover":
            LOG.info("this watcher ends; another one may go on with job %s", self._name)
        else:
            self._enter("done")
        self._report()
        with _trouble_logged("release the lease", self._name):
            self._lease.release()
        if self._mirror is not None:
            self._mirror.finish()
        return EXIT_DONE

    def _enter(self, phase: str) -> None:
        """Enter a phase, unless another thread has entered a later one."""
        with self._phase_lock:
            self._phase = max(phase, self._phase, key=PHASES.index)

    def training_ended(self, seconds: float) -> None:
        """Evaluate the last steps for a limited time, then end the rules. Called when the training process has ended.

        Args:
            seconds: Time for the last steps.
        """
        self._enter("draining")
        self.hurry()
        others_seconds = min(seconds, _COPY_SECONDS if self._is_unordered else _OTHER_WORKERS_SECONDS)
        # Started first, because marking the end may wait for S3.
        self._cancel_after(others_seconds + seconds, "the training process has ended")
        with _trouble_logged("mark the end of the trial", self._name):
            self.mark_end(others_seconds)

    def hurry(self) -> None:
        """Look for new data now, and often from now on, because training waits for the last rules or has ended."""
        self._rules.hurry()
        self._profiler_rules.hurry()
        if self._mirror is not None:
            self._mirror.hurry()

    def job_is_stopped(self) -> None:
        """End the rules before the platform kills the container, which it does two minutes after a stop."""
        self._cancel_after(_STOPPED_SECONDS, "the training job was stopped")

    def mark_end(self, seconds: float = 0.0) -> None:
        """Mark the trial as ended if its hook was killed before it could, because readers would wait forever.

        Args:
            seconds: Time for other workers, which may still write and mark the end themselves.
        """
        backend = open_backend(self._trial)
        if not has_ended(backend):
            time.sleep(seconds)
            if not has_ended(backend):
                write_end(backend)
        self._is_copied = True
        if self._copy is not None:
            self._copy.finish()

    def finish_profiler_rules(self) -> None:
        """Evaluate the profiler data that are there: training has ended, also if no end mark says so."""
        self._profiler_rules.finish()

    def hand_over(self) -> None:
        """Leave the open rules to the next watcher, which finds the lease released."""
        self._enter("handover")
        self._abandon()

    def _abandon(self) -> None:
        """Stop without another status, result or copy."""
        self._rules.abandon()
        self._profiler_rules.abandon()
        if self._mirror is not None:
            self._mirror.stop()

    def _cancel_after(self, seconds: float, reason: str) -> None:
        """End the rules that still run after some time."""

        def cancel() -> None:
            if not self.ended.wait(seconds):
                self._rules.cancel(reason)
                self._profiler_rules.finish()
                if self._mirror is not None:
                    self._mirror.stop()

        threading.Thread(target=cancel, name="limit", daemon=True).start()

    def metrics(self) -> dict[str, float]:
        """Return the values of the metrics that are known now, by name."""
        progress = self._rules.progress
        num_rules = sum(record.status.status == "IssuesFound" for record in self._rules.records.values())
        values = {"IssuesFound": num_rules, "LagSeconds": progress.lag_seconds, "JudgedStep": progress.judged_step}
        return {name: float(value) for name, value in values.items() if value is not None}

    def issue_found(self, issue: Issue) -> None:
        """Log an issue."""
        LOG.info("%s: %s", issue.rule, issue.message)

    def status_changed(self, record: RuleRecord) -> None:
        """Print a line for programs that watch logs, and report."""
        step = "" if record.status.first_issue_step is None else f" step={record.status.first_issue_step}"
        self._print(record.name, f"{record.status.status}{step}")
        self._report()
        self._send_event(record)

    def _profiler_status_changed(self, record: ProfilerRuleRecord) -> None:
        if record.details:
            LOG.info("%s: %s", record.name, record.details)
        self._print(record.name, record.status)
        self._report()

    def _print(self, rule: str, status: str) -> None:
        with contextlib.suppress(OSError):  # nobody reads the log
            print(f"{LOG_PREFIX} rule={rule} status={status} job={self._name}", flush=True)

    def _send_event(self, record: RuleRecord) -> None:
        """Send the change of a status to EventBridge, if this is still the watcher of the job."""
        previous, self._previous[record.name] = self._previous[record.name], record.status.status
        if self._events is not None and not self._is_taken_over:
            records = list(self._rules.records.values())
            asks = self._actions.asks_by_event(record)
            self._events.send(status_event(self._origin, record, previous, records, asks))

    def _report(self) -> None:
        """Write ``status.json``, if this is still the watcher of the job."""
        with self._lock, _trouble_logged("write the status", self._name):
            if self._is_taken_over or not self._lease.is_held():
                self._is_taken_over = True
                self._abandon()
                return
            self._sequence += 1
            self._state.write(STATUS_KEY, [json.dumps(self._document()).encode()])

    def _document(self) -> JSONObject:
        return {
            "version": VERSION,
            "sequence": self._sequence,
            "training_job_name": self._name,
            "generation": self._lease.generation,
            "watcher": {
                **self._lease.holder,
                "started_at": self._started_at,
                "heartbeat_at": _utc_now(),
                "phase": self._phase,
            },
            "trial": {"path": self._trial, **attrs.asdict(self._rules.progress)},
            "rules": describe_rules(self._rules.records.values()),
            "profiler_rules": describe_profiler_rules(self._profiler_rules.records),
        }

    @contextlib.contextmanager
    def _heartbeat(self) -> Iterator[None]:
        """Renew the lease and report at intervals."""
        ended = threading.Event()

        def beat() -> None:
            while not ended.wait(HEARTBEAT_SECONDS):
                with _trouble_logged("renew the lease", self._name):
                    self._lease.renew()
                self._report()

        thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _open_trial(self, location: str, keeps_waiting: Callable[[], bool]) -> Backend:
        """Return the back end of the trial; SageMaker copies a folder of checkpoints in any order."""
        backend = open_patiently(location, keeps_waiting)
        if not self._is_unordered:
            return backend
        self._copy = SettlingBackend(backend)
        if self._is_copied:
            self._copy.finish()
        return self._copy

    def _fetch(self, source: str) -> str:
        """Return a local copy of a file with rules."""
        folder, _, name = source.rpartition("/")
        content = open_backend(folder).read(name)
        if content is None:
            raise FileNotFoundError(f"there is no file with rules at {source!r}")
        path = self._scratch / name
        path.write_bytes(content)
        return str(path)


def watch(
    spec: JobSpec,
    name: str,
    *,
    place: str,
    ask_script: Callable[[str], object] | None = None,
    watch_parent: Callable[[Watcher], object] | None = None,
    keeps_waiting: Callable[[], bool] = lambda: True,
    has_ended_training: bool = False,
    wait: bool = True,
    probe: JobProbe | None = None,
    replaced_pid: int | None = None,
) -> int:
    """Watch a job until its rules have ended; return the exit code.

    Args:
        spec: The settings of the job.
        name: Name of the training job.
        place: Where the watcher runs.
        ask_script: Asks the training script to stop.
        watch_parent: Starts to watch the training process; None if it is out of reach.
        keeps_waiting: Returns whether to wait longer while S3 is out of reach.
        has_ended_training: Whether training has ended, so that the trial is marked as ended if its hook did not.
        wait: Whether to wait for an abandoned lease to expire.
        probe: Stops the job; None if it is one of SageMaker.
        replaced_pid: Process of a watcher on this host that has died.
    """
    state = open_patiently(spec.state_location(name), keeps_waiting)
    lease = Lease(state, place, replaced_pid=replaced_pid)
    if not lease.acquire(wait):
        LOG.info("another watcher evaluates the rules of job %s: %s", name, lease.holder_shown())
        return EXIT_DONE
    with _trouble_logged("write the settings", name):
        state.write(SPEC_KEY, [spec.to_json().encode()])
    actions = JobActions(name, state, spec.actions, ask_script, stop_job=None if probe is None else probe.stop)
    with scratch_folder() as scratch:
        events = EventSender() if spec.actions.events else None
        watcher = Watcher(spec, name, lease, state, actions, scratch, events)
        if place == "container":
            actions.on_stop = watcher.job_is_stopped
        if watch_parent is not None:
            watch_parent(watcher)
        if has_ended_training:
            watcher.mark_end()
            watcher.finish_profiler_rules()
        with sent_metrics(name, watcher.metrics) if spec.actions.metrics else contextlib.nullcontext():
            return watcher.run()


def main(arguments: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Watch the job of this environment beside its training process, or one that SageMaker describes."""
    parser = argparse.ArgumentParser(prog="python -m sagemaker_debug_ext.watch.program", description=__doc__)
    parser.add_argument("--hook", type=int, metavar="FD", help="file descriptor of the socket to the training process")
    parser.add_argument("--parent", type=int, metavar="PID", help="process that trains; the watcher ends after it")
    parser.add_argument("--replaces", type=int, metavar="PID", help="watcher of this host that has died")
    parser.add_argument("--job", metavar="NAME", help="training job of SageMaker; its settings are described with it")
    parser.add_argument("--place", default="container", choices=PLACES, help="where this program runs")
    parser.add_argument("--max-seconds", type=float, metavar="N", help="hand over to another watcher after this time")
    parser.add_argument("--cluster", default=environ.get(CLUSTER_VARIABLE), help=f"default: {CLUSTER_VARIABLE}")
    options = parser.parse_args(arguments)
    logging.basicConfig(format="[rules] %(message)s")
    logging.getLogger("sagemaker_debug_ext").setLevel(logging.INFO)
    try:
        spec = job_spec_of_container(environ) if options.job is None else spec_of_description(_describe(options.job))
        if spec is None:
            raise JobSpecError(f"the environment of {options.job or 'this process'} holds no job spec")
        name = options.job or job_name(environ)
        cluster = options.cluster or ("sagemaker" if options.job else None)
        probe = None if cluster is None else _find_probe(cluster, name, environ)
    except (DebugExtError, botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
        print(f"nothing is watched: {error}", file=sys.stderr)
        return EXIT_UNUSABLE
    if options.parent is None:
        follow = _following(probe, spec.watch.drain_seconds, options.max_seconds, is_beside=options.place == "pod")
        return watch(spec, name, place=options.place, watch_parent=follow, probe=probe)
    _leave_memory_to_training(spec.watch.memory_mib)
    hook = socket.socket(fileno=options.hook)
    return watch(
        spec,
        name,
        place=options.place,
        ask_script=lambda rule: hook.sendall(f"{rule}\n".encode()),
        watch_parent=lambda watcher: _watch_parent(options.parent, hook, watcher, spec.watch.drain_seconds),
        keeps_waiting=lambda: os.getppid() == options.parent,
        probe=probe,
        replaced_pid=options.replaces,
    )


def _describe(name: str) -> Mapping[str, Any]:
    """Return the description of a training job of SageMaker."""
    description: Mapping[str, Any] = aws_client("sagemaker").describe_training_job(TrainingJobName=name)
    return description


def _find_probe(cluster: str, name: str, environ: Mapping[str, str]) -> JobProbe | None:
    """Return the probe of a job; without one, rules are evaluated all the same."""
    try:
        return find_probe(cluster, name, environ)
    except DebugExtError as error:
        LOG.warning("the state of the job is unknown, and it cannot be stopped: %s", error)
        return None


def _following(
    probe: JobProbe | None, drain_seconds: float, max_seconds: float | None = None, *, is_beside: bool
) -> Callable[[Watcher], object]:
    """Return what starts to watch a job that runs elsewhere.

    Args:
        probe: The probe of the job.
        drain_seconds: Time for the last steps after SIGTERM, if the job has ended.
        max_seconds: Time after which another watcher takes over; None for no limit.
        is_beside: Whether the watcher runs in a pod beside training, where SIGTERM means that training has ended. Its
            job ends after its pod only, so that the probe does not know. Elsewhere the watcher alone is stopped.
    """

    def follow(watcher: Watcher) -> None:
        def end() -> None:
            if is_beside or _has_ended(probe):
                watcher.training_ended(drain_seconds)
            else:
                watcher.hand_over()

        if max_seconds is not None:
            timer = threading.Timer(max_seconds, watcher.hand_over)
            timer.daemon = True
            timer.start()
        signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=end, name="end", daemon=True).start())
        if probe is not None:
            follow_job(probe, watcher)

    return follow


def _has_ended(probe: JobProbe | None) -> bool:
    """Return whether a job is known to have ended."""
    try:
        return probe is not None and probe.has_ended()
    except Exception as error:  # noqa: BLE001 - of any client; the next watcher asks again
        LOG.warning("the state of the job is unknown: %s", error)
        return False


def follow_job(probe: JobProbe, watcher: Watcher) -> None:
    """Start to wait for the end of a job that runs elsewhere; the watcher then evaluates the last steps."""

    def look() -> None:
        if wait_for_end(probe, watcher.ended):
            watcher.training_ended(_ELSEWHERE_SECONDS)

    threading.Thread(target=look, name="probe", daemon=True).start()


def _leave_memory_to_training(memory_mib: int) -> None:
    """Limit the memory of this process, and let the kernel kill it before training."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(_OOM_SCORE))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (memory_mib * _MIB, memory_mib * _MIB))


def _watch_parent(parent: int, hook: socket.socket, watcher: Watcher, drain_seconds: float) -> None:
    """Start to watch the training process, and to listen to its hook, which says when it waits for the last rules."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_LOOK_SECONDS)
        watcher.training_ended(drain_seconds)

    def listen() -> None:
        with contextlib.suppress(OSError):
            if hook.recv(1):  # nothing if the process has died, which `look` sees
                watcher.hurry()

    for name, run in (("parent", look), ("hook", listen)):
        threading.Thread(target=run, name=name, daemon=True).start()


@contextlib.contextmanager
def _trouble_logged(what: str, job_name: str) -> Iterator[None]:
    """Log an error of the storage, with which rules are evaluated all the same."""
    try:
        yield
    except (OSError, DebugExtError) as error:
        LOG.warning("cannot %s of job %s: %s", what, job_name, error)


def _utc_now() -> str:
    return dt.datetime.now(dt.timezone.utc).isoformat()


if __name__ == "__main__":
    sys.exit(main())
