"""SimulatePrincipalPolicy of IAM, with which SDK v3 checks roles and which moto's server lacks: all is allowed."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

from sagemaker_debug_ext.laptop.api import Application

_FORM: Final = "application/x-www-form-urlencoded"
_OPERATION: Final = "SimulatePrincipalPolicy"
_ACTION_NAMES: Final = "ActionNames.member."
_RESULT: Final = (
    "<member><EvalActionName>{action}</EvalActionName><EvalResourceName>*</EvalResourceName>"
    "<EvalDecision>allowed</EvalDecision></member>"
)
_RESPONSE: Final = (
    '<SimulatePrincipalPolicyResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/">'
    "<SimulatePrincipalPolicyResult><IsTruncated>false</IsTruncated>"
    "<EvaluationResults>{results}</EvaluationResults></SimulatePrincipalPolicyResult>"
    "<ResponseMetadata><RequestId>laptop</RequestId></ResponseMetadata></SimulatePrincipalPolicyResponse>"
)


class RoleChecks:
    """A WSGI application that answers SimulatePrincipalPolicy and passes all other requests on.

    Args:
        other: The application for all other requests.
    """

    def __init__(self, other: Application) -> None:
        self._other = other

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        form = _read_form(environ)
        if form.get("Action") != [_OPERATION]:
            return self._other(environ, start_response)
        actions = [values[0] for name, values in form.items() if name.startswith(_ACTION_NAMES)]
        results = "".join(_RESULT.format(action=escape(action)) for action in actions)
        content = _RESPONSE.format(results=results).encode()
        start_response("200 OK", [("Content-Type", "text/xml"), ("Content-Length", str(len(content)))])
        return [content]


def _read_form(environ: dict[str, Any]) -> Mapping[str, list[str]]:
    """Return the fields of a request to a service that takes forms; its body can be read again afterwards."""
    if not str(environ.get("CONTENT_TYPE", "")).startswith(_FORM):
        return {}
    content = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(content)
    return parse_qs(content.decode(errors="replace"))
