"""The CloudFormation template for self-managed jobs: a function that stops jobs, a topic for messages, and policies."""

from __future__ import annotations

import re
from importlib import resources
from typing import Final

MAX_BYTES: Final = 51_200
"""Maximum size of a template that CloudFormation takes in a request."""

_TEMPLATE: Final = "self-managed.template.yaml"
_FUNCTION: Final = "control.py"
_PLACE: Final = re.compile(rf"^( +)# {re.escape(_FUNCTION)}\n", re.MULTILINE)


def render_template() -> str:
    """Return the template, with the code of its function inline."""
    files = resources.files(__name__)
    code = (files / _FUNCTION).read_text(encoding="utf-8")
    template = (files / _TEMPLATE).read_text(encoding="utf-8")
    return _PLACE.sub(lambda place: "".join(_indented(line, place[1]) for line in code.splitlines()), template)


def _indented(line: str, indentation: str) -> str:
    return f"{indentation}{line}\n" if line else "\n"
