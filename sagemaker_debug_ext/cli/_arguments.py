"""Arguments that several commands share."""

from __future__ import annotations

import argparse
from typing import Any

from sagemaker_debug_ext.vocabulary import ModeKeys


def parse_mode(text: str) -> ModeKeys:
    """Parse the name of a mode, ignoring case."""
    try:
        return ModeKeys[text.upper()]
    except KeyError:
        names = ", ".join(name.lower() for name in ModeKeys.__members__)
        raise argparse.ArgumentTypeError(f"must be one of {names} (got {text!r})") from None


def parse_count(text: str) -> int:
    """Parse an integer of at least one."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number, at least 1 (got {text!r})")
    return number


def add_trial(parser: argparse.ArgumentParser) -> None:
    """Add the argument for the trial."""
    parser.add_argument(
        "trial", metavar="TRIAL", help="folder with index/ and events/: a local path or s3://bucket/prefix"
    )


def add_mode(parser: argparse.ArgumentParser) -> None:
    """Add the option for the mode in which steps are counted."""
    parser.add_argument(
        "--mode",
        type=parse_mode,
        default=ModeKeys.GLOBAL,
        help="count steps within this mode: train, eval or predict (default: global, over all modes)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option for JSON output."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def add_command(
    commands: Any, name: str, summary: str, run: Any, words: str | None = None, description: str | None = None
) -> argparse.ArgumentParser:
    """Add a command that calls `run` with its arguments; `run` returns the exit status.

    Args:
        commands: The commands to extend.
        name: Name of the command.
        summary: One-line description.
        run: Function that runs the command.
        words: Argument, if any, for any number of words, which may also follow options.
        description: Description in the command's own help; the summary by default.
    """
    parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=description or summary)
    parser.set_defaults(run=run, command=parser, words=words)
    return parser
