"""The application of the live page: the shell, the views as parts of it, the story as JSON, and a stream of news."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gzip
import json
from collections.abc import AsyncIterator, Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import attrs
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.looking.page.folding import Folding
from sagemaker_debug_ext.looking.page.markup import element
from sagemaker_debug_ext.looking.server.guard import Guard
from sagemaker_debug_ext.looking.views.curves import all_names
from sagemaker_debug_ext.looking.views.parts import Content, Detail
from sagemaker_debug_ext.looking.views.registry import VIEWS

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from sagemaker_debug_ext.looking.live.board import Board, Snapshot

_STATIC: Final = Path(__file__).resolve().parent.parent / "static"
_SCRIPTS: Final = {"page.css": "text/css", "page.js": "text/javascript", "live.js": "text/javascript"}
_HEARTBEAT_SECONDS: Final = 10.0
_LEAST_SECONDS: Final = 0.25
"""Shortest time between two news of a stream."""

_DETAIL: Final = Detail(rows=160, columns=400, points=150, curves=6, octaves=0.5)
"""Level of detail that keeps an update with an open heat map of thousands of layers below 32 kB."""

_MAX_OPENED: Final = 64
"""Limit of the folded parts of a view that a page can ask for."""

_MAX_RENDERED: Final = 64
"""Limit of the views that are kept for further pages."""

MAX_STREAMS: Final = 4
"""Further pages ask now and then, because a browser opens no more than six connections to a host."""


class Boards(Protocol):
    """The trials that the page can show: one board, or one for each trial of a folder."""

    def listed(self) -> list[dict[str, Any]]:
        """Return number, name, path and state of each."""

    def get(self, number: int) -> Board:
        """Return a board by its number; `KeyError` without one."""


@attrs.define
class _Rendered:
    version: int
    parts: dict[tuple[str, frozenset[str]], bytes] = attrs.field(factory=dict)


class LiveApp:
    """Answers the requests of the live page.

    Args:
        boards: The trials to show.
        token: The token of all data.
        allowed_hosts: Further hosts that requests may name.
        samples: Number of samples of the input data to show.
    """

    def __init__(self, boards: Boards, token: str, allowed_hosts: Collection[str] = (), samples: int = 0) -> None:
        self._boards = boards
        self._samples = samples
        self._is_ending = False
        self._streams: set[asyncio.Event] = set()
        self._rendered: dict[Board, _Rendered] = {}
        static = [Route(f"/static/{name}", functools.partial(_static, name)) for name in _SCRIPTS]
        self.asgi = Starlette(
            routes=[
                Route("/", _shell),
                *static,
                Route("/boards", self._list),
                Route("/boards/{number:int}/story", self._story),
                Route("/boards/{number:int}/views/{view:str}", self._view),
                Route("/boards/{number:int}/names", self._names),
                Route("/boards/{number:int}/news", self._news),
            ],
            middleware=[
                Middleware(
                    Guard,
                    token=token,
                    open_paths=["/", *(f"/static/{name}" for name in _SCRIPTS)],
                    allowed_hosts=allowed_hosts,
                )
            ],
        )

    async def _list(self, _request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self._boards.listed))

    async def _story(self, request: Request) -> Response:
        snapshot = await self._snapshot(request)
        return JSONResponse(snapshot.story.to_json_dict())

    async def _view(self, request: Request) -> Response:
        board = await self._board(request)
        name = request.path_params["view"]
        draw = next((draw for anchor, _, draw in VIEWS if anchor == name), None)
        if draw is None:
            raise HTTPException(404, "There is no such view.")
        opened = frozenset(request.query_params.getlist("open")[:_MAX_OPENED])
        snapshot = await self._snapshot(request)
        tag = f'"{snapshot.version}"'
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304)
        kept = self._rendered.get(board)
        if kept is None or kept.version < snapshot.version or len(kept.parts) >= _MAX_RENDERED:
            self._rendered[board] = kept = _Rendered(snapshot.version)
        key = (name, opened)
        if key not in kept.parts:
            kept.parts[key] = await run_in_threadpool(self._draw, snapshot, draw, opened)
        headers = {"content-encoding": "gzip", "etag": tag}
        return Response(kept.parts[key], media_type="text/html", headers=headers)

    def _draw(self, snapshot: Snapshot, draw: Callable[[Content], Any], opened: frozenset[str]) -> bytes:
        return gzip.compress(str(element("div", draw(self._content(snapshot, opened)))).encode(), 5, mtime=0)

    def _content(self, snapshot: Snapshot, opened: frozenset[str] = frozenset()) -> Content:
        detail = attrs.evolve(_DETAIL, folding=Folding(opened))
        return Content(
            story=snapshot.story, materials=snapshot.materials, detail=detail, samples=self._samples, is_whole=False
        )

    async def _names(self, request: Request) -> Response:
        """Answer the names by which curves can be asked for, a line each."""
        snapshot = await self._snapshot(request)
        names = await run_in_threadpool(all_names, self._content(snapshot))
        headers = {"content-encoding": "gzip"}
        return Response(gzip.compress("\n".join(names).encode(), 5, mtime=0), media_type="text/plain", headers=headers)

    async def _news(self, request: Request) -> Response:
        board = await self._board(request)
        since = _number(request.query_params.get("since", "0"))
        if since > board.version:  # the page knows an earlier server
            since = 0
        if len(self._streams) >= MAX_STREAMS:
            return PlainTextResponse(_line(board, poll=True), media_type="application/x-ndjson")
        changed = asyncio.Event()
        self._streams.add(changed)  # at once, so that requests that come together count each other
        return _Stream(self._stream(board, since, changed), lambda: self._streams.discard(changed))

    async def _stream(self, board: Board, since: int, changed: asyncio.Event) -> AsyncIterator[str]:
        """Yield a line after each change, a few a second, and a heartbeat."""
        loop = asyncio.get_running_loop()
        end = board.add_listener(lambda: loop.call_soon_threadsafe(changed.set))
        try:
            while not self._is_ending:
                if board.version <= since:
                    with contextlib.suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(changed.wait(), _HEARTBEAT_SECONDS)
                changed.clear()
                if not self._is_ending:
                    since = board.version
                    yield _line(board)
                    await asyncio.sleep(_LEAST_SECONDS)
            yield _line(board, ended=True)
        finally:
            end()

    def end(self) -> None:
        """End the streams of news, because the server ends."""
        self._is_ending = True
        for changed in self._streams:
            changed.set()

    async def _board(self, request: Request) -> Board:
        try:
            board: Board = await run_in_threadpool(self._boards.get, request.path_params["number"])
        except KeyError:
            raise HTTPException(404, "There is no such trial.") from None
        except (OSError, DebugExtError) as error:
            raise HTTPException(409, str(error)) from error
        return board

    async def _snapshot(self, request: Request) -> Snapshot:
        board = await self._board(request)
        if not board.version:
            raise HTTPException(503, "The trial is still being read.")
        snapshot: Snapshot = await run_in_threadpool(board.snapshot)
        return snapshot


class _Stream(StreamingResponse):
    """Lines of news; calls a function when it has ended, also if it never began."""

    def __init__(self, lines: AsyncIterator[str], on_end: Callable[[], object]) -> None:
        super().__init__(lines, media_type="application/x-ndjson")
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._on_end()


async def _static(name: str, _request: Request) -> Response:
    return Response((_STATIC / name).read_bytes(), media_type=_SCRIPTS[name])


async def _shell(_request: Request) -> Response:
    """Answer the page without any data; its script asks for them with the token."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", "trials"),
        element("link", rel="stylesheet", href="static/page.css"),
        element("script", src="static/page.js", defer=True),
        element("script", src="static/live.js", defer=True),
    )
    views = [
        element("a", title, href=f"#{anchor}", data_view=anchor, hidden=anchor not in ("verdict", "rules", "saved"))
        for anchor, title, _ in VIEWS
    ]
    body = element(
        "body",
        element("nav", views, element("button", "theme", type="button", id="theme", hidden=True), aria_label="views"),
        element(
            "main",
            element("p", "connecting …", id="pulse", role="status"),
            element("div", id="view"),
            element(
                "noscript",
                element("p", "The live page needs scripts; sagemaker-debug report writes one that does not."),
            ),
        ),
    )
    return Response(f"<!doctype html>\n{element('html', head, body, lang='en')}\n", media_type="text/html")


def _line(board: Board, **further: Any) -> str:
    pulses = [attrs.asdict(pulse) for pulse in board.pulses()]
    return json.dumps({"version": board.version, "trials": pulses, **further}) + "\n"


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise HTTPException(400, "since must be a whole number of at most 15 digits.")
    return int(text)
