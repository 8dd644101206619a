"""Starts the processing job that evaluates the rules of a training job, once the training job is created.

Clients tell by events what they send and what came of it. A training job that is created keeps running whatever
happens here: a failure is a warning that says what to do.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import attrs
import botocore.exceptions

from sagemaker_debug_ext.config.job_spec import JobSpec
from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.requests.processing import watcher_job_of
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.watch.described import spec_of_description
from sagemaker_debug_ext.watch.status import WatchStatus

_LOG: Final = logging.getLogger(__name__)
_REQUEST: Final = "sagemaker_debug_ext_request"
_BUILD: Final = "before-parameter-build.sagemaker.CreateTrainingJob"
_DONE: Final = "after-call.sagemaker.CreateTrainingJob"
_DESCRIBED: Final = "after-call.sagemaker.DescribeTrainingJob"
_ID: Final = "sagemaker-debug-ext-watchers"
_FIRST_ERROR: Final = 300
_LOOK_SECONDS: Final = 60.0


@attrs.define
class _Followed:
    """A training job whose watcher this process has started."""

    request: Mapping[str, Any]
    spec: JobSpec
    number: int
    look_at: float


class _WatcherJobs:
    """Starts the watchers of the training jobs that the clients of this process create, and those that follow.

    Args:
        client_factory: Returns a client of SageMaker for a region.
        clock: Monotonic clock in seconds.
    """

    def __init__(self, client_factory: Callable[[str], Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._client_factory = client_factory
        self._clock = clock
        self._followed: dict[str, _Followed] = {}

    def keep(self, params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> None:
        """Keep the request of a training job until its answer comes."""
        context[_REQUEST] = dict(params)

    def created(self, http_response: Any, context: Mapping[str, Any], **_: Any) -> None:
        """Start the watcher of a training job that has been created, if its settings name an image for it."""
        request = context.get(_REQUEST)
        if request is None or http_response.status_code >= _FIRST_ERROR:
            return
        name = request["TrainingJobName"]
        with _warning_about(name):
            spec = spec_of_description(request)
            if spec is not None:
                self._start(name, _Followed(request, spec, 1, 0.0), context)

    def described(self, parsed: Mapping[str, Any], context: Mapping[str, Any], **_: Any) -> None:
        """Start the next watcher of a training job, if the one before has handed over because its time is over.

        Nothing is read before that time, so that clients may describe a job as often as they like.
        """
        name = parsed.get("TrainingJobName", "")
        followed = self._followed.get(name)
        if followed is None or self._clock() < followed.look_at:
            return
        followed.look_at = self._clock() + _LOOK_SECONDS
        with _warning_about(name):
            status = WatchStatus.read(open_backend(followed.spec.state_location(name)))
            if status is not None and status.is_final:
                del self._followed[name]
            elif status is not None and status.document["watcher"]["phase"] == "handover":
                self._start(name, attrs.evolve(followed, number=followed.number + 1), context)

    def _start(self, name: str, followed: _Followed, context: Mapping[str, Any]) -> None:
        watcher = watcher_job_of(followed.request, followed.spec.watch, followed.number)
        if watcher is None:
            return
        # If this one cannot be started, the next look finds the same handover again.
        self._followed.setdefault(name, attrs.evolve(followed, look_at=self._clock() + _LOOK_SECONDS))
        try:
            self._client_factory(context["client_region"]).create_processing_job(**watcher)
            _LOG.info("processing job %s evaluates the rules of training job %s", watcher["ProcessingJobName"], name)
        except botocore.exceptions.ClientError as error:
            if "ResourceInUse" not in str(error):
                raise
            _LOG.info("the rules of training job %s are evaluated already", name)
        seconds = float(watcher["AppSpecification"]["ContainerArguments"][-1])  # until it hands over
        self._followed[name] = attrs.evolve(followed, look_at=self._clock() + seconds)


@contextlib.contextmanager
def _warning_about(name: str) -> Iterator[None]:
    """Turn an error of the block into a warning, because the training job runs."""
    try:
        yield
    except (DebugExtError, OSError, botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
        _LOG.warning(
            "training job %s runs, but nothing evaluates its rules: %s; repeat it with "
            "create_processing_job(**watcher_job_request(...)), or call sagemaker-debug self-managed watch %s",
            name,
            error,
            name,
        )


def start_watcher_jobs(events: Any, client_factory: Callable[[str], Any]) -> None:
    """Start the processing job of the watcher after each new training job that asks for one.

    A watcher whose time is over is followed by another one, as soon as a client describes the training job. Doing so
    twice for the same events changes nothing.

    Args:
        events: The event emitter of a client or session.
        client_factory: Returns a client of SageMaker for a region.
    """
    jobs = _WatcherJobs(client_factory)
    for event, handler in ((_BUILD, jobs.keep), (_DONE, jobs.created), (_DESCRIBED, jobs.described)):
        events.register_last(event, handler, unique_id=f"{_ID}-{event}")


def stop_watcher_jobs(events: Any) -> None:
    """Undo `start_watcher_jobs`."""
    for event in (_BUILD, _DONE, _DESCRIBED):
        events.unregister(event, unique_id=f"{_ID}-{event}")
