"""`serve`: run the live page on this machine until it is interrupted, or until all jobs have ended."""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

import uvicorn

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.looking.server.app import LiveApp

if TYPE_CHECKING:
    from sagemaker_debug_ext.looking.server.app import Boards

ADDRESS: Final = "127.0.0.1"
FIRST_PORT: Final = 8570
_NUM_PORTS: Final = 100
_MAX_REQUESTS: Final = 64
_LOOK_SECONDS: Final = 0.5
"""Interval between two looks whether to end."""


def open_socket(port: int | None) -> socket.socket:
    """Return a socket that listens on this machine only.

    Args:
        port: The port; None for the first free one from 8570 on.

    Raises:
        SMDebugValueError: The port is in use, or not allowed.
    """
    ports = range(FIRST_PORT, FIRST_PORT + _NUM_PORTS) if port is None else (port,)
    for number in ports:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((ADDRESS, number))
        except (OSError, OverflowError) as error:
            listening.close()
            reason = getattr(error, "strerror", None) or str(error)
            continue
        return listening
    if port is None:
        raise SMDebugValueError(f"no port from {ports[0]} to {ports[-1]} is free: choose one with --port")
    raise SMDebugValueError(f"port {port} cannot be used ({reason}): choose another with --port")


def serve(
    boards: Boards,
    listening: socket.socket,
    on_ready: Callable[[str], object],
    *,
    allowed_hosts: Collection[str] = (),
    samples: int = 0,
    until: Callable[[], bool] | None = None,
) -> None:
    """Serve the live page.

    Args:
        boards: The trials to show.
        listening: The socket, from `open_socket`.
        on_ready: Called with the address of the page once it can be opened.
        allowed_hosts: Further hosts that requests may name.
        samples: Number of samples of the input data to show.
        until: Asked now and then; true ends the server.
    """
    token = secrets.token_urlsafe(32)
    app = LiveApp(boards, token, allowed_hosts, samples)
    config = uvicorn.Config(
        app.asgi,
        log_level="error",
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="off",
        limit_concurrency=_MAX_REQUESTS,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config, app)
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_LOOK_SECONDS):
            if until is not None and until():
                server.should_exit = True

    threading.Thread(target=look, name="until", daemon=True).start()
    listening.listen()
    on_ready(f"http://{ADDRESS}:{listening.getsockname()[1]}/#token={token}")
    try:
        server.run(sockets=[listening])
    finally:
        ended.set()
        listening.close()


class _Server(uvicorn.Server):
    """A server that ends its streams, which would otherwise be cut off."""

    def __init__(self, config: uvicorn.Config, app: LiveApp) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, and then everything else."""
        self._app.end()
        await super().shutdown(sockets)
