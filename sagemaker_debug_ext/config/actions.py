"""Actions that run when a rule fires, and their form in a request.

All actions of a rule are sent in one rule parameter, ``action_json``: a JSON object or an array of objects. Every
double quote is escaped with a backslash because the rule container embeds the string in another one before parsing it.
"""

from __future__ import annotations

import abc
import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import attrs

from sagemaker_debug_ext.errors import SettingTypeError, SMDebugTypeError, SMDebugValueError, did_you_mean

_JOB_PREFIX: Final = re.compile(r"[A-Za-z0-9-]+")
_EMAIL: Final = re.compile(r"[A-Za-z0-9._%+-]+@([A-Za-z0-9_-]+\.)+[A-Za-z]{2,}")
_STRICT_EMAIL: Final = re.compile(r"[a-z0-9]+@\w+\.\w{2,3}")
_PHONE: Final = re.compile(r"\+[1-9][0-9]{1,14}")
_STRICT_PHONE: Final = re.compile(r"\+\d{1,15}")
_HOST: Final = re.compile(r"(?P<scheme>\w+)://([^/?#]*@)?(?P<host>[\w.-]*|\[[^\]]*\])")
_TOKEN: Final = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w.~@:+=%-]{16,}")


def _matches(pattern: re.Pattern[str], strict: re.Pattern[str], form: str) -> Any:
    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        allowed = strict if getattr(instance, "strict", False) else pattern
        if not isinstance(value, str) or not allowed.fullmatch(value):
            raise SMDebugValueError(f"{type(instance).__name__}.{attribute.name} must be {form} (got {value!r})")

    return check


class Action(abc.ABC):
    """An action that runs when a rule fires: `StopTraining`, `Email` or `SMS`."""

    __slots__ = ()

    action_name: ClassVar[str]

    @abc.abstractmethod
    def to_dict(self, job_name: str | None = None) -> dict[str, str]:
        """Return the action as the rule container reads it.

        Args:
            job_name: Name of the training job, for actions that need one and were created without it.
        """

    def serialize(self, job_name: str | None = None) -> str:
        """Return the value of ``action_json``; see `to_dict`."""
        return _escape(self.to_dict(job_name))


@attrs.frozen
class StopTraining(Action):
    """Stops the training job.

    AWS stops the one running job whose name starts with the prefix, and none if several do. Its container compares with
    the prefix in lower case, so a job whose name has capitals is never stopped there.

    Args:
        training_job_prefix: Letters, digits and hyphens; the full name of the job by default.

    Raises:
        SMDebugValueError: The prefix has other characters.
    """

    action_name: ClassVar[str] = "stoptraining"

    training_job_prefix: str | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(_matches(_JOB_PREFIX, _JOB_PREFIX, "letters, digits and hyphens")),
    )

    def to_dict(self, job_name: str | None = None) -> dict[str, str]:  # noqa: D102  # inherited
        if self.training_job_prefix is not None:
            return {"training_job_prefix": self.training_job_prefix, "name": self.action_name}
        return {"name": self.action_name} | ({} if job_name is None else {"training_job_prefix": job_name})


@attrs.frozen
class Email(Action):
    """Sends an e-mail through the SNS topic ``SMDebugRules``; the recipient has to confirm the subscription.

    Args:
        email_address: An ASCII address.
        strict: Accept only addresses that the SDK accepts: lower-case letters and digits, then a domain of two
            parts.

    Raises:
        SMDebugValueError: The address is invalid.
    """

    action_name: ClassVar[str] = "email"

    email_address: str = attrs.field(validator=_matches(_EMAIL, _STRICT_EMAIL, "an e-mail address"))
    strict: bool = attrs.field(default=False, kw_only=True, eq=False, repr=False)

    def to_dict(self, job_name: str | None = None) -> dict[str, str]:  # noqa: ARG002, D102  # inherited
        return {"endpoint": self.email_address, "name": self.action_name}


@attrs.frozen
class SMS(Action):
    """Sends a text message through the SNS topic ``SMDebugRules``.

    Args:
        phone_number: In E.164 form: a plus sign, the country code and the number, at most 15 digits.
        strict: Accept the numbers that the SDK accepts, which includes a leading 0.

    Raises:
        SMDebugValueError: The number is invalid.
    """

    action_name: ClassVar[str] = "sms"

    phone_number: str = attrs.field(
        validator=_matches(_PHONE, _STRICT_PHONE, "a phone number in E.164 form such as '+15550100'")
    )
    strict: bool = attrs.field(default=False, kw_only=True, eq=False, repr=False)

    def to_dict(self, job_name: str | None = None) -> dict[str, str]:  # noqa: ARG002, D102  # inherited
        return {"endpoint": self.phone_number, "name": self.action_name}


@attrs.frozen(init=False)
class ActionList:
    """Several actions for one rule, in order.

    Args:
        *actions: The actions.

    Raises:
        SMDebugTypeError: An argument is not an action.
    """

    actions: tuple[Action, ...]

    def __init__(self, *actions: Action) -> None:
        for action in actions:
            if not isinstance(action, Action):
                raise SMDebugTypeError(f"ActionList must hold actions: {_ACTION_NAMES} (got {action!r})")
        self.__attrs_init__(actions)

    def serialize(self, job_name: str | None = None) -> str:
        """Return the value of ``action_json``; see `Action.to_dict`."""
        return "[" + ", ".join(action.serialize(job_name) for action in self.actions) + "]"


_ARGUMENT_OF: Final[Mapping[type[Action], str]] = {
    StopTraining: "training_job_prefix",
    Email: "endpoint",
    SMS: "endpoint",
}
_BY_NAME: Final = {kind.action_name: kind for kind in _ARGUMENT_OF}
_ACTION_NAMES: Final = ", ".join(kind.__name__ for kind in _ARGUMENT_OF)


def is_valid_action_object(actions: object) -> bool:
    """Return whether `actions` is an action or an `ActionList`."""
    return isinstance(actions, (Action, ActionList))


def to_actions(actions: object) -> Action | ActionList | None:
    """Convert the actions of a rule to the classes of this module; None stays None.

    Actions of the SDK are rebuilt from their parameters. A job prefix that the SDK has filled in belongs to an earlier
    job and is dropped.

    Raises:
        SMDebugTypeError: `actions` is neither an action nor an `ActionList`.
        SMDebugValueError: An action of the SDK has invalid parameters.
    """
    if actions is None or isinstance(actions, (Action, ActionList)):
        return actions
    if isinstance(members := getattr(actions, "actions", None), tuple):
        return ActionList(*map(_adopt, members))
    return _adopt(actions)


def _adopt(action: object) -> Action:
    parameters = getattr(action, "action_parameters", None)
    if not isinstance(parameters, Mapping):
        raise SettingTypeError(f"actions must be {_ACTION_NAMES} or an ActionList of them (got {action!r})")
    if getattr(action, "use_default_training_job_prefix", False):
        parameters = {"name": parameters.get("name")}
    return _parse_one(parameters)


def _escape(parameters: Mapping[str, str]) -> str:
    return json.dumps(parameters).replace('"', '\\"')


def _parse_one(entry: object) -> Action:
    if not isinstance(entry, Mapping):
        raise SMDebugValueError(f"an action must be a JSON object with a name (got {entry!r})")
    # The container ignores the case of the name. The other values keep theirs, because job names are case-sensitive.
    name = str(entry.get("name", "")).lower()
    if name not in _BY_NAME:
        allowed = tuple(_BY_NAME)
        raise SMDebugValueError(
            f"an action's name must be one of {', '.join(allowed)} (got {name!r}){did_you_mean(name, allowed)}"
        )
    kind = _BY_NAME[name]
    argument = entry.get(_ARGUMENT_OF[kind])
    if argument is None and kind is not StopTraining:
        raise SMDebugValueError(f"the action {name!r} must have {_ARGUMENT_OF[kind]!r} (got {dict(entry)!r})")
    return kind(argument)  # type: ignore[call-arg]  # each takes one argument


def shown_address(url: str) -> str:
    """Return scheme and host of the address of a webhook, because the rest may be a secret."""
    found = _HOST.match(url)
    return "no address" if found is None else f"{found['scheme']}://{found['host']}/…"


def may_hold_secret(url: str) -> bool:
    """Return whether an address seems to hold credentials: a user name, a query, or a long word of letters and digits.

    The services that take messages put their tokens there.
    """
    host, _, path = url.partition("//")[2].partition("/")
    return "@" in host or "?" in url or any(map(_TOKEN.fullmatch, path.split("/")))


def load_entries(text: str) -> list[Any]:
    """Return the entries of an ``action_json`` value: an object or an array, with or without the backslashes.

    Raises:
        SMDebugValueError: The string is not valid JSON.
    """
    document: Any = None
    for spelling in (text, text.replace('\\"', '"')):
        try:
            document = json.loads(spelling)
            break
        except json.JSONDecodeError as error:
            problem = error
    else:
        raise SMDebugValueError(
            f"action_json must be a JSON object or an array of them (got {text!r}: {problem})"
        ) from problem
    return document if isinstance(document, list) else [document]


def parse_actions(text: str) -> tuple[Action, ...]:
    """Parse an ``action_json`` value; the inverse of ``serialize``.

    Raises:
        SMDebugValueError: The string is not valid JSON, or an entry is not an action.
    """
    return tuple(_parse_one(entry) for entry in load_entries(text))
