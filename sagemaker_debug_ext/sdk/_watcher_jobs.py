"""Starts the processing job that evaluates the rules of a training job, once the training job is created.

Clients tell by two events what they send and what came of it. A training job that is created keeps running whatever
happens here: a failure is a warning that says what to do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import botocore.exceptions

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.requests.processing import watcher_job_of
from sagemaker_debug_ext.watch.described import spec_of_description

_LOG: Final = logging.getLogger(__name__)
_REQUEST: Final = "sagemaker_debug_ext_request"
_BUILD: Final = "before-parameter-build.sagemaker.CreateTrainingJob"
_DONE: Final = "after-call.sagemaker.CreateTrainingJob"
_ID: Final = "sagemaker-debug-ext-watchers"


def start_watcher_jobs(events: Any, client_factory: Callable[[str], Any]) -> None:
    """Let each training job that is created, and asks for it, be followed by the processing job of its watcher.

    Doing so twice for the same events changes nothing.

    Args:
        events: The event emitter of a client or session.
        client_factory: Returns a client of SageMaker for a region.
    """

    def keep(params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> None:
        context[_REQUEST] = dict(params)

    def start(http_response: Any, context: Mapping[str, Any], **_: Any) -> None:
        request = context.get(_REQUEST)
        if request is not None and http_response.status_code < 300:
            start_watcher_job(request, lambda: client_factory(context["client_region"]))

    events.register_last(_BUILD, keep, unique_id=f"{_ID}-keep")
    events.register_last(_DONE, start, unique_id=f"{_ID}-start")


def stop_watcher_jobs(events: Any) -> None:
    """Undo `start_watcher_jobs`."""
    events.unregister(_BUILD, unique_id=f"{_ID}-keep")
    events.unregister(_DONE, unique_id=f"{_ID}-start")


def start_watcher_job(request: Mapping[str, Any], make_client: Callable[[], Any]) -> None:
    """Start the processing job for a training job that has been created, if its settings name an image for it.

    Args:
        request: The request of the training job.
        make_client: Returns a client of SageMaker.
    """
    name = request["TrainingJobName"]
    try:
        spec = spec_of_description(request)
        watcher = None if spec is None else watcher_job_of(request, spec.watch)
        if watcher is None:
            return
        make_client().create_processing_job(**watcher)
    except (DebugExtError, botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
        if "ResourceInUse" in str(error):
            _LOG.info("the rules of training job %s are evaluated already", name)
            return
        _LOG.warning(
            "training job %s runs, but nothing evaluates its rules: %s; repeat it with "
            "create_processing_job(**watcher_job_request(...)), or call sagemaker-debug self-managed watch %s",
            name,
            error,
            name,
        )
    else:
        _LOG.info("processing job %s evaluates the rules of training job %s", watcher["ProcessingJobName"], name)
