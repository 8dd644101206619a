"""The wire format of the SageMaker API: JSON 1.1 over HTTP, with the operation in a header. Server and client."""

from __future__ import annotations

import datetime as dt
import http.client
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugValueError

_LOG: Final = logging.getLogger(__name__)
_TARGET: Final = "SageMaker."
_CONTENT_TYPE: Final = "application/x-amz-json-1.1"

Operation: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Takes the members of a request and returns those of its response."""

Application: TypeAlias = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
"""A WSGI application."""


class APIError(Exception):
    """An error that the API answers.

    Args:
        code: The error code, such as ``ValidationException``.
        message: The message for the user.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


class SageMakerAPI:
    """A WSGI application that answers some SageMaker operations and passes all other requests on.

    Args:
        other: The application for all other requests.
    """

    def __init__(self, other: Application) -> None:
        self._other = other
        self.operations: dict[str, Operation] = {}
        """The operations of SageMaker, by name."""
        self.paths: dict[str, Operation] = {}
        """The operations of services that take them by path, such as Batch."""

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        target = str(environ.get("HTTP_X_AMZ_TARGET", ""))
        by_path = self.paths.get(str(environ.get("PATH_INFO", "")))
        operation = self.operations.get(target.removeprefix(_TARGET)) if target.startswith(_TARGET) else by_path
        if operation is None:
            return self._other(environ, start_response)
        status, document = _answer(operation, environ)
        content = json.dumps(document, default=_to_seconds).encode()
        headers = [("Content-Type", _CONTENT_TYPE), ("Content-Length", str(len(content)))]
        if status is not HTTPStatus.OK:
            headers.append(("x-amzn-ErrorType", str(document["__type"])))  # where services by path look for it
        start_response(f"{status.value} {status.phrase}", headers)
        return [content]


def call(url: str, operation: str, members: Mapping[str, Any]) -> Mapping[str, Any]:
    """Call an operation of a server, which boto3 need not know, and return the members of the response.

    Raises:
        SMDebugValueError: The server refuses the request.
        SMDebugRuntimeError: The server cannot be reached.
    """
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    try:
        headers = {"Content-Type": _CONTENT_TYPE, "X-Amz-Target": f"{_TARGET}{operation}"}
        connection.request("POST", "/", json.dumps(dict(members)), headers)
        response = connection.getresponse()
        document: Mapping[str, Any] = json.loads(response.read())
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise SMDebugRuntimeError(f"no such server answers at {url}: {error}") from error
    finally:
        connection.close()
    if response.status != HTTPStatus.OK:
        raise SMDebugValueError(str(document["message"]))
    return document


def _answer(operation: Operation, environ: Mapping[str, Any]) -> tuple[HTTPStatus, Mapping[str, Any]]:
    try:
        return HTTPStatus.OK, operation(_read_members(environ))
    except APIError as error:
        return HTTPStatus.BAD_REQUEST, {"__type": error.code, "message": error.message}
    except Exception as error:  # noqa: BLE001 - the border of the server: the client must get an answer
        _LOG.exception("a request failed")
        return HTTPStatus.INTERNAL_SERVER_ERROR, {"__type": "InternalFailure", "message": repr(error)}


def _read_members(environ: Mapping[str, Any]) -> Mapping[str, Any]:
    content = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    try:
        members = json.loads(content or b"{}")
    except ValueError as error:
        raise APIError("SerializationException", f"the request must be JSON ({error})") from error
    if not isinstance(members, dict):
        raise APIError("SerializationException", f"the request must be a JSON object (got {type(members).__name__})")
    return members


def _to_seconds(value: object) -> float:
    """Return a time as the API writes it: in seconds since the epoch."""
    if isinstance(value, dt.datetime):
        return value.timestamp()
    raise TypeError(f"a response holds JSON values and times only (got {value!r})")
