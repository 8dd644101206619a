"""Lambda functions as targets of EventBridge rules, run in processes of this machine.

moto matches events and keeps functions, also those of CloudFormation stacks, but needs Docker to run them, and fails
when an event reaches one. Its rules hand such events over to this module instead.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import logging
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any, Final

import botocore.exceptions

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.local.environment import inherited_environment

LOG_GROUP: Final = "/aws/lambda/"
NUM_ATTEMPTS: Final = 3
"""Lambda repeats an event twice before it gives up."""

_LOG: Final = logging.getLogger(__name__)
_NUM_PROCESSES: Final = 4
_QUEUE: Final = "queue_for_failures"
_START_SECONDS: Final = 10.0  # Lambda, too, does not count the start
_RUN: Final = """
import importlib, json, sys, types
sys.path.insert(0, ".")
module, _, name = sys.argv[1].rpartition(".")
context = types.SimpleNamespace(function_name=sys.argv[2], aws_request_id=sys.argv[3])
getattr(importlib.import_module(module.replace("/", ".")), name)(json.load(sys.stdin), context)
"""


class Functions:
    """Runs functions with the events that reach them.

    Args:
        make_client: Makes the client of a service, by name.
        environment: The variables with which clients reach this server.
    """

    def __init__(self, make_client: Callable[[str], Any], environment: Mapping[str, str]) -> None:
        self._make_client = make_client
        self._environment = environment
        self._pool = ThreadPoolExecutor(_NUM_PROCESSES, thread_name_prefix="function")
        self._restore = contextlib.ExitStack()
        self._restore.callback(_divert_events(self._put))
        self._restore.callback(_keep_queues())

    def close(self) -> None:
        """Run the functions of all events that have come, and take no more."""
        self._restore.close()
        self._pool.shutdown(wait=True)

    def _put(self, function: Any, event: Mapping[str, Any]) -> None:
        self._pool.submit(self._run, function, json.dumps(event))

    def _run(self, function: Any, event: str) -> None:
        """Run a function with an event, and repeat that if it fails, as Lambda does."""
        try:
            for attempt in range(1, NUM_ATTEMPTS + 1):
                if self._try(function, event, attempt):
                    return
            _LOG.warning("function %s has failed %d times with an event", function.function_name, NUM_ATTEMPTS)
            self._keep(function, event)
        except Exception:  # noqa: BLE001 - the end of the task: nobody else hears of it
            _LOG.exception("function %s was not run", function.function_name)

    def _try(self, function: Any, event: str, attempt: int) -> bool:
        with tempfile.TemporaryDirectory(prefix="function-") as folder:
            with zipfile.ZipFile(BytesIO(function.code_bytes)) as archive:
                archive.extractall(folder)
            environment = {**inherited_environment(sys.executable, self._environment), **function.environment_vars}
            try:
                run = subprocess.run(  # noqa: S603 - the user's function
                    [sys.executable, "-c", _RUN, function.handler, function.function_name, str(attempt)],
                    cwd=folder,
                    env={**environment, "AWS_LAMBDA_FUNCTION_NAME": function.function_name},
                    input=event,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=_START_SECONDS + float(function.timeout),
                    check=False,
                )
            except subprocess.TimeoutExpired:
                self._log(function.function_name, f"Task timed out after {function.timeout} seconds")
                return False
        self._log(function.function_name, run.stdout)
        return run.returncode == 0

    def _keep(self, function: Any, event: str) -> None:
        """Put an event that a function has failed to handle into the queue that its ``DeadLetterConfig`` names."""
        arn = getattr(function, _QUEUE, None)
        if arn is not None:
            queues = self._make_client("sqs")
            url = queues.get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"]
            queues.send_message(QueueUrl=url, MessageBody=event)

    def _log(self, name: str, text: str) -> None:
        """Pass what a function has printed on to CloudWatch Logs."""
        lines = [{"timestamp": round(time.time() * 1000), "message": line or " "} for line in text.splitlines()]
        if not lines:
            return
        logs = self._make_client("logs")
        place = {"logGroupName": LOG_GROUP + name, "logStreamName": f"{time.time():.6f}"}
        with contextlib.suppress(botocore.exceptions.ClientError):  # the group exists
            logs.create_log_group(logGroupName=place["logGroupName"])
        logs.create_log_stream(**place)
        logs.put_log_events(**place, logEvents=lines)


def _divert_events(put: Callable[[Any, Mapping[str, Any]], None]) -> Callable[[], None]:
    """Call `put` with each function that an event reaches; return a function that ends this."""
    rules = import_optional("moto.events.models", "the laptop server", "laptop").Rule
    functions = import_optional("moto.awslambda.models", "the laptop server", "laptop").lambda_backends
    send_to_targets = rules.send_to_targets

    @functools.wraps(send_to_targets)
    def send(self: Any, original_event: Any, transform_input: bool = True) -> None:
        others = copy.copy(self)
        others.targets = [target for target in self.targets if ":lambda:" not in target["Arn"]]
        send_to_targets(others, copy.copy(original_event), transform_input)
        if len(others.targets) < len(self.targets) and self.event_pattern.matches_event(original_event):
            for arn in _function_arns(self):
                backend = functions[self.account_id][self.region_name]
                with _logged(arn):
                    put(backend.get_function(arn), _as_sent(original_event))

    rules.send_to_targets = send
    return lambda: setattr(rules, "send_to_targets", send_to_targets)


def _keep_queues() -> Callable[[], None]:
    """Pass functions the ARN of their queue for failures, which moto drops; return a function that undoes this."""
    functions = import_optional("moto.awslambda.models", "the laptop server", "laptop").LambdaFunction
    make, make_from_template = functions.__init__, functions.create_from_cloudformation_json

    def queue_of(settings: Mapping[str, Any]) -> str | None:
        return (settings.get("DeadLetterConfig") or {}).get("TargetArn")

    @functools.wraps(make)
    def init(self: Any, *, spec: Mapping[str, Any], **members: Any) -> None:
        make(self, spec=spec, **members)
        setattr(self, _QUEUE, queue_of(spec))

    @functools.wraps(make_from_template)
    def create(_: type, name: str, resource: Mapping[str, Any], *arguments: Any, **members: Any) -> Any:
        function = make_from_template(name, resource, *arguments, **members)
        setattr(function, _QUEUE, queue_of(resource["Properties"]))
        return function

    functions.__init__, functions.create_from_cloudformation_json = init, classmethod(create)

    def restore() -> None:
        functions.__init__, functions.create_from_cloudformation_json = make, make_from_template

    return restore


def _function_arns(rule: Any) -> Iterator[str]:
    return (target["Arn"] for target in rule.targets if ":lambda:" in target["Arn"])


@contextlib.contextmanager
def _logged(arn: str) -> Iterator[None]:
    try:
        yield
    except Exception:  # noqa: BLE001 - other targets must get the event
        _LOG.exception("an event was not handed over to %s", arn)


def _as_sent(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event as functions get it, with its time as text."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(float(event.get("time") or time.time())))
    return {**event, "time": at}
