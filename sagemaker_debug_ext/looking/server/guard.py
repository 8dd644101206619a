"""`Guard`: what the server of the live page refuses, and the headers of all that it answers.

Any web page that is open in the browser can send requests to this machine, and any user of this machine can open the
port. So requests must name this machine as their host, must not come from another site, and need a token for all data.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS: Final = frozenset({"127.0.0.1", "localhost"})

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors {ancestors}"
)


class Guard:
    """Middleware that refuses what does not come from the live page itself.

    Args:
        app: The application.
        token: The token of all data.
        open_paths: Paths without data, which need no token.
        allowed_hosts: Further hosts, such as that of a notebook server that forwards requests.
    """

    def __init__(
        self, app: ASGIApp, token: str, open_paths: Collection[str], allowed_hosts: Collection[str] = ()
    ) -> None:
        self._app = app
        self._token = token.encode()
        self._open_paths = frozenset(open_paths)
        self._hosts = HOSTS | {host.lower() for host in allowed_hosts}
        self._headers = {
            b"content-security-policy": _POLICY.format(ancestors="'self'" if allowed_hosts else "'none'").encode(),
            b"x-content-type-options": b"nosniff",
            b"referrer-policy": b"no-referrer",
            b"cross-origin-opener-policy": b"same-origin",
            b"cross-origin-resource-policy": b"same-origin",
            b"cache-control": b"no-store",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # pragma: no cover - the server is started without WebSockets
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self._headers.items()]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send_with_headers)
            return
        status, reason = refusal
        headers = [(b"content-type", b"text/plain; charset=utf-8")]
        await send_with_headers({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": reason.encode()})

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        if _host_of(headers.get(b"host", b"")) not in self._hosts:
            return 400, "This host is not served here. --allow-host NAME allows another one."
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "Nothing can be changed here: only GET is answered."
        origin = headers.get(b"origin")
        if headers.get(b"sec-fetch-site") == b"cross-site" or (origin and not self._is_own(origin)):
            return 403, "Requests of other sites are refused."
        if scope["path"] in self._open_paths:
            return None
        given = headers.get(b"authorization", b"").removeprefix(b"Bearer ")
        if not secrets.compare_digest(given, self._token):
            return 401, "The token is missing or wrong: open the address that was printed when the server started."
        return None

    def _is_own(self, origin: bytes) -> bool:
        scheme, _, rest = origin.partition(b"://")
        return scheme in (b"http", b"https") and _host_of(rest) in self._hosts


def _host_of(header: bytes) -> str:
    """Return the host of a header without its port."""
    return header.decode("latin-1").rpartition(":")[0 if b":" in header else 2].lower()
