"""Identity and permissions: operations of STS and IAM with which the SDKs look for a role and check it.

moto's server names a user where the SDKs look for a role, and lacks the check of permissions.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

from sagemaker_debug_ext.laptop.api import Application

_FORM: Final = "application/x-www-form-urlencoded"
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


_ROLE: Final = "AmazonSageMaker-ExecutionRole-laptop"
"""Name of the role that scripts run with; the SDKs do not look up a name that begins like this."""

_IDENTITY: Final = (
    '<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>'
    f"<Arn>arn:aws:sts::{{account}}:assumed-role/{_ROLE}/laptop</Arn><UserId>AROALAPTOP:laptop</UserId>"
    "<Account>{account}</Account></GetCallerIdentityResult>"
    "<ResponseMetadata><RequestId>laptop</RequestId></ResponseMetadata></GetCallerIdentityResponse>"
)


class RoleChecks:
    """A WSGI application that answers GetCallerIdentity and SimulatePrincipalPolicy, and passes other requests on.

    Args:
        other: The application for all other requests.
        key: Access key of scripts. Requests with other keys, such as those of assumed roles, get moto's identity.
        account: The account of the server.
    """

    def __init__(self, other: Application, key: str, account: str) -> None:
        self._other = other
        self._credential = f"Credential={key}/"
        self._account = account

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        text = self._answer(_read_form(environ), str(environ.get("HTTP_AUTHORIZATION", "")))
        if text is None:
            return self._other(environ, start_response)
        content = text.encode()
        start_response("200 OK", [("Content-Type", "text/xml"), ("Content-Length", str(len(content)))])
        return [content]

    def _answer(self, form: Mapping[str, list[str]], authorization: str) -> str | None:
        """Return the response to a request; None for those of the other application."""
        operation = form.get("Action", [""])[0]
        if operation == "GetCallerIdentity" and self._credential in authorization:
            return _IDENTITY.format(account=self._account)
        if operation == "SimulatePrincipalPolicy":
            actions = [values[0] for name, values in form.items() if name.startswith(_ACTION_NAMES)]
            return _RESPONSE.format(results="".join(_RESULT.format(action=escape(action)) for action in actions))
        return None


def _read_form(environ: dict[str, Any]) -> Mapping[str, list[str]]:
    """Return the fields of a request to a service that takes forms; its body can be read again afterwards."""
    if not str(environ.get("CONTENT_TYPE", "")).startswith(_FORM):
        return {}
    content = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(content)
    return parse_qs(content.decode(errors="replace"))
