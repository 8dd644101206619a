"""Rights that the roles of jobs lack: requests of jobs that the server denies, as IAM would."""

from __future__ import annotations

import io
import json
import re
import urllib.parse
from collections.abc import Callable, Collection, Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final
from xml.sax.saxutils import escape

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.laptop.api import Application

JOB_KEY: Final = "job"
"""The access key of jobs, which tells their requests from those of whoever submits them."""

SERVICES: Final = ("events", "s3", "sagemaker", "sns")

_ACTION: Final = re.compile(rf"(?:{'|'.join(SERVICES)}):[A-Z][A-Za-z]+")
_CREDENTIAL: Final = re.compile(r"Credential=(?P<key>[^/]+)/\d+/[^/]+/(?P<service>[^/]+)/")
_OF_OBJECTS: Final = {"GET": "GetObject", "HEAD": "GetObject", "DELETE": "DeleteObject"}
_USER: Final = "User: arn:aws:sts::123456789012:assumed-role/job is not authorized to perform: "


def check_action(action: str) -> str:
    """Return an action of IAM whose requests can be denied.

    Raises:
        SMDebugValueError: It is none.
    """
    if not _ACTION.fullmatch(action):
        raise SMDebugValueError(
            f"a denied action must be like sagemaker:StopTrainingJob, of {', '.join(SERVICES)} (got {action!r})"
        )
    return action


class Denials:
    """A WSGI application that denies some requests of jobs, and passes all other requests on.

    Args:
        other: The application for all other requests.
        actions: The actions of IAM that jobs have no right to, such as ``sagemaker:StopTrainingJob``.

    Raises:
        SMDebugValueError: An action is none that can be denied.
    """

    def __init__(self, other: Application, actions: Collection[str]) -> None:
        self._other = other
        self._actions = frozenset(map(check_action, actions))

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        signed = _CREDENTIAL.search(str(environ.get("HTTP_AUTHORIZATION", "")))
        if not self._actions or signed is None or signed["key"] != JOB_KEY:
            return self._other(environ, start_response)
        service = signed["service"]
        action = f"{service}:{_operation(service, environ)}"
        if action not in self._actions:
            return self._other(environ, start_response)
        status, kind, content = _answer(service, f"{_USER}{action}")
        headers = [("Content-Type", kind), ("Content-Length", str(len(content)))]
        start_response(f"{status.value} {status.phrase}", headers)
        return [content]


def _operation(service: str, environ: dict[str, Any]) -> str:
    """Return the part of an action after its service."""
    if service == "s3":
        is_object = "/" in str(environ.get("PATH_INFO", "")).strip("/")
        return _OF_OBJECTS.get(str(environ["REQUEST_METHOD"]), "PutObject") if is_object else "ListBucket"
    if service == "sns":
        body: bytes = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)  # for the application that answers
        return urllib.parse.parse_qs(body.decode("utf-8", "replace")).get("Action", [""])[0]
    return str(environ.get("HTTP_X_AMZ_TARGET", "")).rpartition(".")[2]


def _answer(service: str, message: str) -> tuple[HTTPStatus, str, bytes]:
    """Return status, type and content of a response that denies a request, as the service writes it."""
    if service in ("sagemaker", "events"):
        document: Mapping[str, str] = {"__type": "AccessDeniedException", "message": message}
        return HTTPStatus.BAD_REQUEST, "application/x-amz-json-1.1", json.dumps(document).encode()
    code = "AccessDenied" if service == "s3" else "AuthorizationError"
    error = f"<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
    text = error if service == "s3" else f"<ErrorResponse>{error}</ErrorResponse>"
    return HTTPStatus.FORBIDDEN, "text/xml", text.encode()
