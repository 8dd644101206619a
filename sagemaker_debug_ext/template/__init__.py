"""The CloudFormation template for self-managed jobs: a function that stops jobs, a topic for messages, and policies."""

from __future__ import annotations

import json
import re
from importlib import resources
from typing import Any, Final

from sagemaker_debug_ext._json import JSONObject

MAX_BYTES: Final = 51_200
"""Maximum size of a template that CloudFormation takes in a request."""

_TEMPLATE: Final = "self-managed.template.yaml"
_FUNCTION: Final = "control.py"
_POLICIES: Final = "policies.json"
_PLACE: Final = re.compile(rf"^( +)# (?:{re.escape(_FUNCTION)}|policy (\w+))\n", re.MULTILINE)
_PLACEHOLDER: Final = re.compile(r"\$\{(\w+)\}")
_IN_THE_STACK: Final = {
    "Partition": "AWS::Partition",
    "Region": "AWS::Region",
    "Account": "AWS::AccountId",
    "TopicArn": "Topic",
    "ControlLogArn": "ControlLog.Arn",
    "FailedEventsArn": "FailedEvents.Arn",
}
"""What a stack has for placeholders of the policies; the others are its parameters."""


def render_template() -> str:
    """Return the template, with the code of its function and the statements of its policies inline."""
    code = _read(_FUNCTION).splitlines()
    statements = _statements()

    def fill(place: re.Match[str]) -> str:
        indentation, policy = place.groups()
        lines = code if policy is None else [f"- {json.dumps(_in_the_stack(part))}" for part in statements[policy]]
        return "".join(f"{indentation}{line}\n" if line else "\n" for line in lines)

    return _PLACE.sub(fill, _read(_TEMPLATE))


def policies() -> dict[str, JSONObject]:
    """Return the policies of the template by the role that each is for, with placeholders such as ``${Bucket}``."""
    return {name: {"Version": "2012-10-17", "Statement": found} for name, found in _statements().items()}


def _statements() -> dict[str, list[JSONObject]]:
    return dict(json.loads(_read(_POLICIES)))


def _in_the_stack(value: Any) -> Any:
    """Return part of a statement with placeholders that CloudFormation fills in."""
    if isinstance(value, dict):
        return {name: _in_the_stack(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_in_the_stack(member) for member in value]
    if "${" not in value:
        return value
    return {"Fn::Sub": _PLACEHOLDER.sub(lambda found: f"${{{_IN_THE_STACK.get(found[1], found[1])}}}", value)}


def _read(name: str) -> str:
    return (resources.files(__name__) / name).read_text(encoding="utf-8")
