"""``sagemaker-debug watch`` and ``serve``: trials while their jobs run, in a browser or in the terminal."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
import webbrowser
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.cli import _arguments, _output, rules

if TYPE_CHECKING:
    from sagemaker_debug_ext.looking.live.rule_choice import RuleChoice
    from sagemaker_debug_ext.looking.server.app import Boards
    from sagemaker_debug_ext.trials import Trial

_WATCH: Final = "Show running jobs on a live page, or in the terminal."

_ABOUT_WATCH: Final = """Follow one trial or several while their jobs run: what is wrong, the loss, and the layers over
the steps, on a page in the browser of this machine, or in the terminal. Rules run in a process of their own. Only
this machine can open the page, and only by the printed address. To open it elsewhere, forward the port with ssh -L."""

_SERVE: Final = "Show all trials below a folder on a live page."

_ABOUT_SERVE: Final = """List the trials below a folder or a prefix on S3 on a page in the browser of this machine, and
show those that are opened. At most eight are open at a time."""

_WAIT_SECONDS: Final = 0.5


def add_parser(commands: Any) -> None:
    """Add both commands."""
    watching = _arguments.add_command(commands, "watch", _WATCH, run_watch, words="trials", description=_ABOUT_WATCH)
    watching.add_argument(
        "trials", nargs="+", metavar="TRIAL", help="folders with index/ and events/, or s3://bucket/prefix"
    )
    watching.add_argument("--wait", action="store_true", help="wait for trials that do not exist yet")
    watching.add_argument(
        "--until-end", action="store_true", help="end with the jobs, with the exit status of rules run"
    )
    watching.add_argument("--terminal", action="store_true", help="show the trial here; plain lines if piped")
    watching.add_argument("--once", action="store_true", help="print what is known now, and end")
    _add_options(watching)
    serving = _arguments.add_command(commands, "serve", _SERVE, run_serve, description=_ABOUT_SERVE)
    serving.add_argument("folder", metavar="FOLDER", help="a folder of this machine, or s3://bucket/prefix")
    _add_options(serving)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, help="port of the page (default: the first free one from 8570 on)")
    parser.add_argument("--no-browser", action="store_true", help="do not open the browser")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="host that requests may name besides localhost, such as that of a notebook server; repeatable",
    )
    parser.add_argument(
        "--samples", type=int, default=0, metavar="N", help="show up to N samples of the input data (default: none)"
    )
    rules.add_choice(parser)


def run_watch(arguments: argparse.Namespace) -> int:
    """Show trials while their jobs run."""
    from sagemaker_debug_ext.errors import SMDebugValueError
    from sagemaker_debug_ext.looking.live.board import Board
    from sagemaker_debug_ext.looking.report import MAX_TRIALS

    if len(arguments.trials) > MAX_TRIALS:
        raise SMDebugValueError(f"watch shows 1 to {MAX_TRIALS} trials (got {len(arguments.trials)}); see serve FOLDER")
    in_terminal = arguments.terminal or arguments.once
    if not in_terminal:
        _import_server()
    choice = _choose(arguments)
    trials = [_open(path, wait=arguments.wait) for path in arguments.trials]
    with contextlib.closing(Board(trials, choice)) as board:
        if in_terminal:
            _show_in_terminal(arguments, board)
        else:
            from sagemaker_debug_ext.looking.server.boards import NamedTrials

            _serve(arguments, NamedTrials(board))
        return int(board.version > 0 and board.snapshot().story.has_issues)


def run_serve(arguments: argparse.Namespace) -> int:
    """Show the trials below a folder."""
    _import_server()
    from sagemaker_debug_ext.looking.server.boards import FolderTrials

    arguments.until_end = False
    with contextlib.closing(FolderTrials(arguments.folder, _choose(arguments))) as boards:
        _serve(arguments, boards)
    return 0


def _import_server() -> None:
    for name in ("starlette", "uvicorn"):
        import_optional(name, "The live page", "watch")


def _choose(arguments: argparse.Namespace) -> RuleChoice | None:
    from sagemaker_debug_ext.looking.live.rule_choice import RuleChoice
    from sagemaker_debug_ext.rules.recommended import RECOMMENDED

    names = list(dict.fromkeys(arguments.rules)) or list(RECOMMENDED)
    if arguments.no_rules:
        return None
    return RuleChoice(
        names=tuple(arguments.rules),
        parameters=rules.parameters_of(arguments.parameter, names),
        start=arguments.start,
        end=arguments.end,
    )


def _open(path: str, *, wait: bool) -> Trial:
    from sagemaker_debug_ext.errors import MissingCollectionFiles, TrialNotFoundError
    from sagemaker_debug_ext.trials import create_trial

    has_said = False
    while True:
        try:
            return create_trial(path, wait_seconds=0)
        except (TrialNotFoundError, MissingCollectionFiles):
            if not wait:
                raise
        if not has_said:
            _output.say(f"waiting for {path}")
            has_said = True
        time.sleep(_WAIT_SECONDS)


def _serve(arguments: argparse.Namespace, boards: Boards) -> None:
    from sagemaker_debug_ext.looking.server.program import open_socket, serve

    def announce(address: str) -> None:
        _output.write(f"live page: {address}")
        sys.stdout.flush()
        if not arguments.no_browser and _has_display():
            webbrowser.open(address)

    serve(
        boards,
        open_socket(arguments.port),
        announce,
        allowed_hosts=arguments.allow_host,
        samples=arguments.samples,
        until=boards.get(0).has_ended if arguments.until_end else None,
    )


def _has_display() -> bool:
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _show_in_terminal(arguments: argparse.Namespace, board: Any) -> None:
    from sagemaker_debug_ext.looking.terminal import lines

    if arguments.once:
        _output.write(lines.first_screen(board))
    elif not sys.stdout.isatty():
        for line in lines.follow(board):
            _output.write(line)
            sys.stdout.flush()
    else:
        import_optional("textual", "The terminal view", "terminal")
        from sagemaker_debug_ext.looking.terminal.app import WatchApp

        WatchApp(board, until_end=arguments.until_end).run()
