"""The actions of rules in a watched job. Each action is carried out once, even if the watcher restarts.

Before an action a token is created exclusively in the job's state, so that a watcher that takes over does not repeat
it. A message is therefore sent at most once. Stopping a job twice does no harm, so an action that stops is repeated if
the watcher before has not recorded its outcome.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import botocore.exceptions

from sagemaker_debug_ext.config.job_spec import STOP_KEY, ActionOptions
from sagemaker_debug_ext.rules.action import (
    ClientFactory,
    PreparedHandler,
    aws_client,
    builtin_handlers,
)
from sagemaker_debug_ext.rules.evaluation.guard import RuleFailure, call_rule
from sagemaker_debug_ext.rules.evaluation.status import error_details
from sagemaker_debug_ext.store.backends import Backend

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.action import ActionHandler, ActionParameters
    from sagemaker_debug_ext.watch.evaluation import RuleRecord

LOG = logging.getLogger(__name__)

PREFIX: Final = "actions/"
STOP: Final = "stoptraining"

_PAUSES_SECONDS: Final = (5.0, 20.0, 60.0)
_HOPELESS: Final = ("AccessDenied", "ValidationException", "answered 401", "answered 403")
"""In errors that are the same when a request is repeated: a right is missing, or the job has ended."""


class JobActions:
    """Creates the handlers for the actions of a job's rules.

    Args:
        job_name: Name of the training job.
        state: The folder of the job's state.
        options: How actions are carried out.
        ask_script: Asks the training script to stop, with the name of the rule; None writes ``stop.json``, for which
            the hook looks.
        client_factory: Creates the AWS client of a service, by name.
        stop_job: Stops the job on its cluster; None for a job of SageMaker.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        job_name: str,
        state: Backend,
        options: ActionOptions,
        ask_script: Callable[[str], object] | None = None,
        client_factory: ClientFactory = aws_client,
        stop_job: Callable[[], object] | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.on_stop: Callable[[], object] = lambda: None
        """Called when the job has been told to stop."""
        self._job_name = job_name
        self._state = state
        self._options = options
        self._ask_script = ask_script
        self._client = client_factory
        self._stop_job = stop_job
        self._sleep = sleep

    def handlers(self, record: RuleRecord) -> dict[str, ActionHandler]:
        """Return the handlers of a rule's actions, by name."""
        acting: dict[str, ActionHandler] = {**builtin_handlers(self._client, self._options.topic_arn), STOP: self._stop}
        return {name: _Once(name, handler, record, self._state) for name, handler in acting.items()}

    def asks_by_event(self, record: RuleRecord) -> bool:
        """Return whether the events of a rule ask a function of the account to stop the job."""
        return self._options.stop == "events" and any(action["name"] == STOP for action in record.actions)

    def _stop(self, parameters: ActionParameters, rule_name: str, message: str) -> None:
        """Stop the job, by its exact name if the prefix is that of this job."""
        prefix = parameters["training_job_prefix"]
        if not self._job_name.startswith(prefix):
            builtin_handlers(self._client)[STOP](parameters, rule_name, message)
            return
        if self._options.stop == "off":
            LOG.info("%s: the job goes on, because stop='off' is set", rule_name)
            return
        if self._ask_script is not None:
            self._ask_script(rule_name)
        else:
            self._state.write(STOP_KEY, [json.dumps({"rule": rule_name, "message": message}).encode()])
        if self._options.stop == "direct":
            LOG.info("%s: stopping job %s. %s", rule_name, self._job_name, message)
            self._stop_patiently(self._stop_job or self._stop_training_job)
            self.on_stop()

    def _stop_training_job(self) -> None:
        self._client("sagemaker").stop_training_job(TrainingJobName=self._job_name)

    def _stop_patiently(self, stop: Callable[[], object]) -> None:
        """Stop the job; a request that fails is repeated some times, unless that changes nothing."""
        if not any(self._has_stopped(stop, seconds) for seconds in _PAUSES_SECONDS):
            stop()

    def _has_stopped(self, stop: Callable[[], object], pause_seconds: float) -> bool:
        """Stop the job; return False after a pause if that failed, but may work later."""
        try:
            stop()
        except (OSError, botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
            if any(word in str(error) for word in _HOPELESS):
                raise
            LOG.warning("job %s is not stopped: %s; trying again in %g s", self._job_name, error, pause_seconds)
            self._sleep(pause_seconds)
            return False
        return True


class _Once:
    """Carries out an action unless its token says that it was carried out."""

    def __init__(self, name: str, handler: ActionHandler, record: RuleRecord, state: Backend) -> None:
        self._name = name
        self._handler = handler
        self._record = record
        self._state = state

    def prepare(self, parameters: ActionParameters) -> None:
        """Prepare the action, if its handler needs preparation."""
        if isinstance(self._handler, PreparedHandler):
            self._handler.prepare(parameters)

    def __call__(self, parameters: ActionParameters, rule_name: str, message: str) -> None:
        """Carry out the action, and record its outcome."""
        key = _token_key(self._record.name, parameters)
        if not self._state.create(key) and not self._is_unfinished_stop(key):
            self._conclude(key, "not repeated: an earlier watcher of this job has carried it out", write=False)
            return
        try:
            call_rule(self._handler, parameters, rule_name, message)
        except RuleFailure as failure:
            self._conclude(key, f"failed: {error_details(failure.error)}")
            raise failure.error from None
        self._conclude(key, "done")

    def _is_unfinished_stop(self, key: str) -> bool:
        return self._name == STOP and not self._state.read(key)

    def _conclude(self, key: str, outcome: str, write: bool = True) -> None:
        self._record.actions.append({"name": self._name, "outcome": outcome})
        if write:
            at = dt.datetime.now(dt.timezone.utc).isoformat()
            content = {"rule": self._record.name, "name": self._name, "outcome": outcome, "at": at}
            self._state.write(key, [json.dumps(content).encode()])


def _token_key(rule: str, parameters: Mapping[str, Any]) -> str:
    """Return the key of the token of an action, which differs with the rule and with the parameters."""
    digits = hashlib.sha256(json.dumps([rule, dict(parameters)], sort_keys=True).encode()).hexdigest()[:12]
    readable = re.sub(r"[^\w.-]", "_", f"{rule}-{parameters['name']}", flags=re.ASCII)[:80]
    return f"{PREFIX}{readable}-{digits}.json"
