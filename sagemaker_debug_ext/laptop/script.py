"""Run a script whose AWS clients all talk to the endpoint in ``AWS_ENDPOINT_URL``.

``python -m sagemaker_debug_ext.laptop.script SCRIPT [ARGUMENT …]``: botocore follows the variable by itself, but the
SageMaker SDKs pass addresses of their own for STS and others, which are replaced here.
"""

from __future__ import annotations

import functools
import os
import runpy
import sys
from collections.abc import Sequence
from typing import Any

import botocore.session


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
    sys.argv[:] = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
