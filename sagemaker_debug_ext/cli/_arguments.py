"""Arguments that several commands take."""

from __future__ import annotations

import argparse
from typing import Any

from sagemaker_debug_ext.vocabulary import ModeKeys


def parse_mode(text: str) -> ModeKeys:
    """Read the name of a mode, in any case."""
    try:
        return ModeKeys[text.upper()]
    except KeyError:
        names = ", ".join(name.lower() for name in ModeKeys.__members__)
        raise argparse.ArgumentTypeError(f"must be one of {names} (got {text!r})") from None


def parse_count(text: str) -> int:
    """Read a number that is at least one."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number, at least 1 (got {text!r})")
    return number


def add_trial(parser: argparse.ArgumentParser) -> None:
    """Add the argument that says which trial."""
    parser.add_argument(
        "trial", metavar="TRIAL", help="folder that holds index/ and events/, here or s3://bucket/prefix"
    )


def add_mode(parser: argparse.ArgumentParser) -> None:
    """Add the option that says which mode's steps are meant."""
    parser.add_argument(
        "--mode",
        type=parse_mode,
        default=ModeKeys.GLOBAL,
        help="count steps within this mode: train, eval or predict (default: global, over all modes)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option that asks for JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def add_command(
    commands: Any, name: str, summary: str, run: Any, words: str | None = None, description: str | None = None
) -> argparse.ArgumentParser:
    """Add a command whose arguments go to `run`, which returns the exit status.

    Args:
        commands: Where to add it.
        name: Its name.
        summary: What it does.
        run: What runs it.
        words: Its argument, if any, that takes any number of words, which may come after options as well.
        description: What its own help says of it; the summary when not given.
    """
    parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=description or summary)
    parser.set_defaults(run=run, command=parser, words=words)
    return parser
