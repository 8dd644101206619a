"""Run a script whose AWS clients all talk to the endpoint in ``AWS_ENDPOINT_URL``.

``python -m sagemaker_debug_ext.laptop.script SCRIPT [ARGUMENT …]``: botocore follows the variable by itself, but the
SageMaker SDKs pass addresses of their own for STS and others, which are replaced here. SDK v2 follows a job by looking
every ten seconds and asking every thirty whether it has ended; these waits are shortened, because jobs are near.
"""

from __future__ import annotations

import functools
import os
import runpy
import sys
import time
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final

import botocore.session

from sagemaker_debug_ext._imports.callbacks import when_imported

_SDK_V2: Final = "sagemaker.session"
_WAITED: Final = 0.05
"""Fraction of each wait of SDK v2 that is really waited."""


class ShortWaits:
    """Stands for the module `time`: sleeps last a fraction of their time, and the clock is set ahead by the rest.

    Args:
        waited: The fraction.
    """

    def __init__(self, waited: float) -> None:
        self._waited = waited
        self._skipped = 0.0

    def sleep(self, seconds: float) -> None:
        """Sleep for a fraction of some seconds."""
        time.sleep(seconds * self._waited)
        self._skipped += seconds * (1 - self._waited)

    def time(self) -> float:
        """Return the seconds since the epoch, those that sleeps have skipped included."""
        return time.time() + self._skipped

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


def shorten_waits(module: ModuleType) -> None:
    """Shorten the waits of a module that calls ``time.sleep`` and ``time.time``."""
    vars(module)["time"] = ShortWaits(_WAITED)


def redirect_clients(endpoint_url: str) -> None:
    """Redirect all clients that are created from now on to one endpoint."""
    create_client = botocore.session.Session.create_client

    @functools.wraps(create_client)
    def create_redirected_client(self: Any, service_name: str, *arguments: Any, **options: Any) -> Any:
        return create_client(self, service_name, *arguments, **{**options, "endpoint_url": endpoint_url})

    botocore.session.Session.create_client = create_redirected_client  # type: ignore[method-assign]


def main(arguments: Sequence[str]) -> None:
    """Run a script with its arguments."""
    redirect_clients(os.environ["AWS_ENDPOINT_URL"])
    when_imported(_SDK_V2, shorten_waits)
    sys.argv[:] = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
