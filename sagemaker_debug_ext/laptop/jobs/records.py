"""Descriptions of the server's jobs, kept as files, and the pages in which the API lists them."""

from __future__ import annotations

import copy
import json
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from sagemaker_debug_ext.errors import RequestValidationError
from sagemaker_debug_ext.laptop.api import APIError
from sagemaker_debug_ext.requests.checks import check_request
from sagemaker_debug_ext.store.backends import LocalBackend

MAX_RESULTS: Final = 100


@attrs.frozen(kw_only=True)
class Listing:
    """How the API lists jobs of one kind.

    Attributes:
        name: The member with a job's name.
        status: The member with its status.
        end: The member with the time of its end.
        arn: The member with its ARN.
        others: Further members of a summary.
        result: The member of the response with the summaries.
    """

    name: str
    status: str
    end: str
    arn: str
    result: str
    others: tuple[str, ...] = ()

    def page(self, descriptions: Iterable[Mapping[str, Any]], request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the page of descriptions that a request asks for.

        Raises:
            APIError: A parameter is not valid.
        """
        keys = {"Name": self.name, "CreationTime": "CreationTime", "Status": self.status}
        order = request.get("SortBy", "CreationTime")
        if order not in keys:
            raise APIError("ValidationException", f"SortBy must be one of {', '.join(keys)} (got {order!r})")
        found = [description for description in descriptions if self._is_wanted(description, request)]
        found.sort(key=lambda description: description[keys[order]], reverse=request.get("SortOrder") != "Ascending")
        members = (self.name, self.arn, "CreationTime", self.end, "LastModifiedTime", self.status, *self.others)
        summaries = [{name: job[name] for name in members if name in job} for job in found]
        return page_of(summaries, request, self.result)

    def _is_wanted(self, description: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
        """Return whether a job passes the filters of a request."""
        times = {name: _seconds(description.get(name, 0.0)) for name in ("CreationTime", "LastModifiedTime")}
        return (
            str(request.get("NameContains", "")).lower() in description[self.name].lower()
            and request.get("StatusEquals", description[self.status]) == description[self.status]
            and all(at >= _time(request[f"{name}After"]) for name, at in times.items() if f"{name}After" in request)
            and all(at <= _time(request[f"{name}Before"]) for name, at in times.items() if f"{name}Before" in request)
        )


class Records:
    """The descriptions of all jobs of one kind. It is thread-safe.

    Times are seconds since the epoch, as in the API's messages.

    Args:
        folder: Folder for the files, one for each job.
        listing: How the API lists them.
        final: The statuses with which a job ends.
        lost: The status of jobs that were running when the server died.
    """

    def __init__(self, folder: Path, listing: Listing, final: Iterable[str], lost: str = "Failed") -> None:
        self._files = LocalBackend(folder)
        self._listing = listing
        self._final = frozenset(final)
        self._lock = threading.RLock()  # guards the following dictionary
        self._records: dict[str, dict[str, Any]] = {}
        for path in sorted(folder.glob("*.json")):
            record = json.loads(path.read_text(encoding="utf-8"))
            self._records[path.stem] = record
            if record[listing.status] not in self._final:
                self.update(path.stem, **{listing.status: lost, "FailureReason": "the server ended before the job did"})

    def add(self, description: Mapping[str, Any]) -> None:
        """Add a job.

        Raises:
            APIError: Its name is in use.
        """
        name = str(description[self._listing.name])
        with self._lock:
            if name in self._records:
                raise APIError("ResourceInUse", f"{self._listing.name} must be unique: {name!r} already exists")
            self._records[name] = {}
            now = time.time()
            self.update(name, **{"CreationTime": now, **description})

    def update(self, name: str, **members: Any) -> None:
        """Set members of a description."""
        with self._lock:
            self._records[name] |= {"LastModifiedTime": time.time(), **members}
            self._files.write(f"{name}.json", [json.dumps(self._records[name]).encode()])

    def remove(self, name: str) -> None:
        """Remove a job."""
        with self._lock:
            del self._records[name]
            self._files.delete(f"{name}.json")

    def has_ended(self, name: str) -> bool:
        """Return whether a job has its last status."""
        with self._lock:
            return self._records[name][self._listing.status] in self._final

    def get(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the description of the job that a request names.

        Raises:
            APIError: There is no such job.
        """
        name = required_name(request, self._listing.name)
        with self._lock:
            if name not in self._records:
                raise APIError("ResourceNotFound", f"Requested resource not found: no {self._listing.name} {name!r}")
            return copy.deepcopy(self._records[name])

    def page(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the page of summaries that a request asks for.

        Raises:
            APIError: A parameter is not valid.
        """
        return self._listing.page(self.all(), request)

    def all(self) -> list[dict[str, Any]]:
        """Return all descriptions, in the order of their creation."""
        with self._lock:
            return sorted(copy.deepcopy(list(self._records.values())), key=lambda record: record["CreationTime"])


def check(request: Mapping[str, Any], shape: str) -> None:
    """Check a request against the service's model.

    Args:
        request: The request.
        shape: Name of its shape in the model.

    Raises:
        APIError: The service would reject it.
    """
    try:
        check_request(request, shape)
    except RequestValidationError as error:
        raise APIError("ValidationException", str(error)) from error


def required_name(request: Mapping[str, Any], member: str) -> str:
    """Return the member of a request that names a job.

    Raises:
        APIError: It is missing.
    """
    name = request.get(member)
    if not isinstance(name, str) or not name:
        raise APIError("ValidationException", f"{member} must be the name of a job (got {name!r})")
    return name


def page_of(items: list[Any], request: Mapping[str, Any], result: str) -> dict[str, Any]:
    """Return the page of items that ``MaxResults`` and ``NextToken`` of a request select.

    Raises:
        APIError: A parameter is not valid.
    """
    size = int(request.get("MaxResults", 10))
    if not 1 <= size <= MAX_RESULTS:
        raise APIError("ValidationException", f"MaxResults must be 1 to {MAX_RESULTS} (got {size})")
    start = _parse_token(request.get("NextToken", "0"))
    more = {"NextToken": str(start + size)} if start + size < len(items) else {}
    return {result: items[start : start + size], **more}


def _parse_token(token: object) -> int:
    if not (isinstance(token, str) and token.isdecimal()):
        raise APIError("ValidationException", f"NextToken must be that of an earlier response (got {token!r})")
    return int(token)


def _seconds(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else float(value.timestamp())


def _time(value: object) -> float:
    if not isinstance(value, (int, float)):
        raise APIError("ValidationException", f"times must be seconds since the epoch (got {value!r})")
    return float(value)
