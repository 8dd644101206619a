"""What happens when a rule fires: `Actions` and the built-in actions.

An action is an entry of the ``action_json`` parameter of a rule, such as
``{"name": "email", "endpoint": "me@example.com"}``. It runs once for a rule, when it first fires; with
``"repeat": true`` each time. It never makes a rule fail: whatever goes wrong is logged, and what takes too long is left
to itself.

| name | further keys | effect |
|---|---|---|
| ``stoptraining`` | ``training_job_prefix`` | stops the one running SageMaker job whose name begins so |
| ``email``, ``sms`` | ``endpoint`` | sends a message through SNS |
| ``webhook`` | ``url`` or ``url_from`` | sends a JSON object with ``rule`` and ``message`` by POST |
| ``call`` | ``function`` | calls the Python function ``package.module:function`` with rule and message |
| ``marker`` | ``path`` | writes a file with rule and message as JSON, for others to notice |
| ``record`` | ``path`` | has hooks that save to that trial write what their flight recorders keep |

The ``url_from`` of a webhook names the environment variable that holds its address.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext._printable import printable
from sagemaker_debug_ext.config.actions import load_entries, shown_address
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, did_you_mean
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.backends.fileio import atomic_write
from sagemaker_debug_ext.store.format.keys import RECORDING_REQUEST

LOG = logging.getLogger(__name__)

ActionParameters: TypeAlias = Mapping[str, Any]
"""The entry of ``action_json`` that asks for an action."""

ClientFactory: TypeAlias = Callable[[str], Any]
"""Makes the AWS client of a service, by name."""

REQUIRED_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "stoptraining": ("training_job_prefix",),
    "email": ("endpoint",),
    "sms": ("endpoint",),
    "webhook": ("url", "url_from"),
    "call": ("function",),
    "marker": ("path",),
    "record": ("path",),
}
"""The keys of which an action needs one."""

TOPIC_NAME: Final = "SMDebugRules"
_UNCONFIRMED: Final = "PendingConfirmation"
FILTER_KEYS: Final[Mapping[str, str]] = {"email": "email", "sms": "phone_num"}
MAX_LISTING_PAGES: Final = 50

TIMEOUT_SECONDS: Final = 30.0
"""How long an action is waited for."""
WEBHOOK_TIMEOUT_SECONDS: Final = 10.0

_ADDRESS: Final = re.compile(r"https?://([\w.-]+|\[[0-9A-Fa-f:.]+\])(:\d+)?([/?#][!-~]*)?")
"""Addresses that clients of HTTP take: what they say of others may hold parts of them."""


class ActionHandler(Protocol):
    """Carries out an action."""

    def __call__(self, parameters: ActionParameters, rule_name: str, message: str) -> None:
        """Act.

        Args:
            parameters: The action's entry in ``action_json``.
            rule_name: The rule that fired.
            message: What it found.
        """


@runtime_checkable
class PreparedHandler(Protocol):
    """A handler with something to do as soon as the rule is made, such as a subscription that must be confirmed."""

    def prepare(self, parameters: ActionParameters) -> None:
        """Get ready for the action with these parameters."""


def parse_actions(text: str | None) -> list[dict[str, Any]]:
    """Read ``action_json``: an object or a list of them, with plain or with backslash-escaped double quotes.

    Names of actions are put into lower case. Endpoints and job prefixes stay as they are, because case matters in
    them. Entries that are no action are logged and left out.

    Raises:
        SMDebugValueError: The text is no JSON.
        SMDebugTypeError: It is no text.
    """
    if text is not None and not isinstance(text, str):
        raise SMDebugTypeError(f"action_json must be text that holds JSON (got {text!r})")
    if text is None or not text.strip():
        return []
    return [dict(entry, name=entry["name"].lower()) for entry in load_entries(text) if _is_action(entry)]


def _is_action(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        LOG.warning("an action is an object with a name (got %r); it is left out", _shown(entry))
        return False
    return True


def _shown(entry: Any) -> Any:
    """Return what to show of an entry: not all of an address, which may be a secret."""
    if isinstance(entry, dict) and isinstance(entry.get("url"), str):
        return {**entry, "url": shown_address(entry["url"])}
    return entry


class StopTrainingJob:
    """Stops the one running SageMaker job whose name begins with ``training_job_prefix``.

    The job is looked for when the rule is made. If none or several match, nothing is stopped.

    Args:
        client: Gives the AWS client of a service.
    """

    def __init__(self, client: ClientFactory) -> None:
        self._client = client
        self._jobs: dict[str, list[str]] = {}

    def prepare(self, parameters: ActionParameters) -> None:
        """Look for the job."""
        prefix = parameters["training_job_prefix"]
        self._jobs[prefix] = [name for name in self._running_jobs(prefix) if name.startswith(prefix)]

    def __call__(self, parameters: ActionParameters, rule_name: str, message: str) -> None:
        """Stop the job."""
        prefix = parameters["training_job_prefix"]
        if prefix not in self._jobs:
            self.prepare(parameters)  # AWS could not be reached when the rule was made
        jobs = self._jobs[prefix]
        if len(jobs) != 1:
            LOG.warning("%s: %d running jobs begin with %r, nothing is stopped %s", rule_name, len(jobs), prefix, jobs)
            return
        LOG.info("%s: stopping training job %s. %s", rule_name, jobs[0], printable(message))
        self._client("sagemaker").stop_training_job(TrainingJobName=jobs[0])

    def _running_jobs(self, name_contains: str) -> Iterator[str]:
        query = {
            "NameContains": name_contains,
            "SortBy": "CreationTime",
            "SortOrder": "Descending",
            "StatusEquals": "InProgress",
        }
        for _ in range(MAX_LISTING_PAGES):
            page = self._client("sagemaker").list_training_jobs(**query)
            yield from (job["TrainingJobName"] for job in page["TrainingJobSummaries"])
            if "NextToken" not in page:
                return
            query["NextToken"] = page["NextToken"]


class PublishMessage:
    """Sends an e-mail or a text message through the SNS topic ``SMDebugRules``.

    The topic is created and the endpoint subscribed, unless they are already, when the rule is made. Recipients of
    e-mail must confirm the subscription once.

    Args:
        protocol: ``email`` or ``sms``.
        client: Gives the AWS client of a service.
        topic_arn: A topic to publish to, whose subscriptions are the user's own; None for ``SMDebugRules``.
    """

    def __init__(self, protocol: str, client: ClientFactory, topic_arn: str | None = None) -> None:
        self._protocol = protocol
        self._client = client
        self._topic_arn = topic_arn
        self._topic_arns: dict[str, str] = {}

    def prepare(self, parameters: ActionParameters) -> None:
        """Create the topic and subscribe the endpoint, unless the topic is the user's own.

        A warning says that an address has not confirmed its subscription: SNS takes messages for it, and drops them.
        """
        endpoint = parameters["endpoint"]
        if self._topic_arn is not None:
            self._topic_arns[endpoint] = self._topic_arn
            return
        sns = self._client("sns")
        topic_arn = sns.create_topic(Name=TOPIC_NAME)["TopicArn"]
        subscription = self._find_subscription(topic_arn, endpoint)
        if subscription is None:
            sns.subscribe(
                TopicArn=topic_arn,
                Protocol=self._protocol,
                Endpoint=endpoint,
                Attributes={"FilterPolicy": json.dumps({FILTER_KEYS[self._protocol]: [endpoint]})},
                ReturnSubscriptionArn=False,
            )
        if self._protocol == "email" and subscription in (None, _UNCONFIRMED):
            LOG.warning("%s gets no messages until it confirms its subscription, for which SNS has asked it", endpoint)
        self._topic_arns[endpoint] = topic_arn

    def __call__(self, parameters: ActionParameters, rule_name: str, message: str) -> None:
        """Publish the message for the endpoint."""
        endpoint = parameters["endpoint"]
        if endpoint not in self._topic_arns:
            self.prepare(parameters)  # AWS could not be reached when the rule was made
        subject = f"SMDebugRule:{rule_name} fired"
        attribute = {"DataType": "String", "StringValue": endpoint}
        self._client("sns").publish(
            TopicArn=self._topic_arns[endpoint],
            Subject=subject,
            Message=f"{subject}. {message}",
            MessageAttributes={FILTER_KEYS[self._protocol]: attribute},
        )

    def _find_subscription(self, topic_arn: str, endpoint: str) -> str | None:
        """Return the ARN of the endpoint's subscription, or `_UNCONFIRMED`; None if there is none."""
        wanted = (topic_arn, self._protocol, endpoint)
        pages = self._client("sns").get_paginator("list_subscriptions").paginate()
        found = (
            str(subscription["SubscriptionArn"])
            for page in pages
            for subscription in page["Subscriptions"]
            if (subscription["TopicArn"], subscription["Protocol"], subscription["Endpoint"]) == wanted
        )
        return next(found, None)


def post_to_webhook(parameters: ActionParameters, rule_name: str, message: str) -> None:
    """Send rule and message to an address, as JSON by POST.

    An address may be a secret, so no more than its host is logged or part of an error.

    Raises:
        SMDebugValueError: The address is not one of HTTP, or the variable that ``url_from`` names is not set.
        OSError: It does not take the message.
    """
    url, shown = _webhook_address(parameters)
    if not _ADDRESS.fullmatch(url):
        raise SMDebugValueError(
            "url of action 'webhook' must begin with https:// or http:// and a host without user name, and have no "
            f"blanks (got {shown})"
        )
    import urllib.request  # noqa: PLC0415 - loads the packages for HTTP and TLS, and few jobs have a webhook

    body = json.dumps({"rule": rule_name, "message": message}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310 - checked above
    with urllib.request.urlopen(request, timeout=WEBHOOK_TIMEOUT_SECONDS):  # noqa: S310 - checked above
        LOG.info("%s: told %s", rule_name, shown)


def _webhook_address(parameters: ActionParameters) -> tuple[str, str]:
    """Return the address of a webhook, and what to show in its place."""
    variable = parameters.get("url_from")
    if variable is None:
        return parameters["url"], shown_address(parameters["url"])
    try:
        return os.environ[variable], f"the value of environment variable {variable}"
    except KeyError:
        raise SMDebugValueError(
            f"url_from of action 'webhook' must name an environment variable that is set where rules are evaluated "
            f"(got {variable!r})"
        ) from None


def call_function(parameters: ActionParameters, rule_name: str, message: str) -> None:
    """Call a Python function with the rule's name and the message.

    Raises:
        SMDebugValueError: It is not given as ``package.module:function``.
        ImportError: There is no such module.
    """
    module_name, colon, function_name = parameters["function"].partition(":")
    if not (module_name and colon and function_name):
        raise SMDebugValueError(
            f"function of action 'call' must be 'package.module:function' (got {parameters['function']!r})"
        )
    getattr(importlib.import_module(module_name), function_name)(rule_name, message)


def write_marker(parameters: ActionParameters, rule_name: str, message: str) -> None:
    """Write a file that holds rule and message as JSON; folders on the way are made.

    Raises:
        OSError: It cannot be written.
    """
    path = Path(parameters["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, json.dumps({"rule": rule_name, "message": message}).encode() + b"\n")


def ask_for_recording(parameters: ActionParameters, rule_name: str, message: str) -> None:
    """Ask the hooks that save to a trial, here or on S3, to write the steps that their flight recorders keep.

    Raises:
        OSError: The request cannot be written there.
    """
    asked = {"rule": rule_name, "message": message, "id": uuid.uuid4().hex}
    open_backend(parameters["path"]).write(RECORDING_REQUEST, [json.dumps(asked).encode() + b"\n"])


def aws_client(service: str) -> Any:
    """Return the boto3 client of a service in the region of ``AWS_REGION``, or else in us-east-1."""
    import boto3  # noqa: PLC0415 - takes long, and most rules have no actions

    make: Any = boto3.client  # typed for each service by its name, which is not known here
    return make(service, region_name=os.environ.get("AWS_REGION") or "us-east-1")


def builtin_handlers(
    client_factory: ClientFactory | None = None, topic_arn: str | None = None
) -> dict[str, ActionHandler]:
    """Return the built-in handlers, by name of the action; each client is made when it is first needed.

    Args:
        client_factory: Makes the AWS client of a service, by name; `aws_client` when not given.
        topic_arn: SNS topic for messages; None for the topic ``SMDebugRules``.
    """
    make = client_factory or aws_client
    clients: dict[str, Any] = {}

    def client(service: str) -> Any:
        if service not in clients:
            clients[service] = make(service)
        return clients[service]

    return {
        "stoptraining": StopTrainingJob(client),
        "email": PublishMessage("email", client, topic_arn),
        "sms": PublishMessage("sms", client, topic_arn),
        "webhook": post_to_webhook,
        "call": call_function,
        "marker": write_marker,
        "record": ask_for_recording,
    }


class Actions:
    """What happens when a rule fires.

    Args:
        action_str: The rule's ``action_json``: JSON, an object or a list of objects, each with a ``name``.
        rule_name: The rule.
        handlers: What carries out actions, by name; added to the built-in ones, and in their place.
        client_factory: Makes the AWS client of a service, by name; `aws_client` when not given.
        timeout_seconds: How long each action is waited for; it is not interrupted after that.

    Raises:
        SMDebugValueError: `action_str` is no JSON.
    """

    def __init__(
        self,
        action_str: str | None = "",
        rule_name: str = "",
        *,
        handlers: Mapping[str, ActionHandler] | None = None,
        client_factory: ClientFactory | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self.rule_name = rule_name
        self._timeout_seconds = timeout_seconds
        self._done: set[int] = set()
        self._handlers = {**builtin_handlers(client_factory), **(handlers or {})}
        self._entries = [entry for entry in parse_actions(action_str) if self._is_possible(entry)]
        for entry in self._entries:
            handler = self._handlers[entry["name"]]
            if isinstance(handler, PreparedHandler):
                self._attempt(entry["name"], handler.prepare, entry)

    @property
    def names(self) -> list[str]:
        """Names of the actions that will run, in order."""
        return [entry["name"] for entry in self._entries]

    def extended(self, action_str: str) -> Actions:
        """Return these actions followed by further ones, with the same handlers."""
        more = Actions(action_str, self.rule_name, handlers=self._handlers)
        more._entries = [*self._entries, *more._entries]
        return more

    def invoke(self, message: str = "") -> None:
        """Run all actions, those that have run before only if they are to be repeated.

        Args:
            message: What the rule found, for those who are told.
        """
        for position, entry in enumerate(self._entries):
            if position not in self._done or entry.get("repeat") is True:
                self._done.add(position)
                self._attempt(entry["name"], self._handlers[entry["name"]], entry, self.rule_name, message)

    def _is_possible(self, entry: ActionParameters) -> bool:
        name = entry["name"]
        if name not in self._handlers:
            known = tuple(self._handlers)
            hint = did_you_mean(name, known)
            LOG.warning("%s: action must be one of %s (got %r)%s", self.rule_name, ", ".join(known), name, hint)
            return False
        keys = REQUIRED_KEYS.get(name)
        given = [entry[key] for key in keys or () if key in entry]
        if keys and (len(given) != 1 or not isinstance(given[0], str)):
            needed = " or ".join(map(repr, keys))
            LOG.warning("%s: action %r needs %s (got %r); it is left out", self.rule_name, name, needed, _shown(entry))
            return False
        return True

    def _attempt(self, name: str, act: Callable[..., None], *arguments: object) -> None:
        def run() -> None:
            try:
                act(*arguments)
            except (Exception, SystemExit) as error:  # of AWS or of the caller's handler; none may end an evaluation
                shows_trace = LOG.isEnabledFor(logging.DEBUG)
                details = f"{type(error).__name__}: {error}"
                LOG.warning("%s: action %r failed: %s", self.rule_name, name, details, exc_info=shows_trace)

        thread = threading.Thread(target=run, name=f"action-{name}-of-{self.rule_name}", daemon=True)
        thread.start()
        thread.join(self._timeout_seconds)
        if thread.is_alive():
            LOG.warning("%s: action %r takes longer than %g s", self.rule_name, name, self._timeout_seconds)


__path__: list[str] = []  # submodules and further names come from the table of public names
__getattr__ = lazy_names(__name__)
