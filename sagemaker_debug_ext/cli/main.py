"""``sagemaker-debug``: combines the commands, one module each, and converts errors to exit codes."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from sagemaker_debug_ext import __version__
from sagemaker_debug_ext._printable import printable_name
from sagemaker_debug_ext.cli import (
    _output,
    consolidate,
    demo,
    ls,
    migrate,
    profile,
    report,
    rules,
    run,
    show,
    watch,
)
from sagemaker_debug_ext.cli.jobs import laptop, self_managed
from sagemaker_debug_ext.errors import DebugExtError, did_you_mean

EXIT_USAGE: Final = 2
_EXIT_INTERRUPTED: Final = 130

_EPILOG = "exit status: 0 nothing found, 1 a rule found an issue, 2 wrong usage or an error"


class _Parser(argparse.ArgumentParser):
    """Parser of a command and, as argparse makes them of the same class, of its subcommands."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a word that is no choice, and suggest the nearest one, as argparse itself does from Python 3.14 on."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += did_you_mean(value, map(str, action.choices or ()))
            raise

    def error(self, message: str) -> NoReturn:
        super().error(printable_name(message))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = _Parser(prog="sagemaker-debug", description="See what happens inside a training job.", epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.set_defaults(run=None, command=parser, words=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in (demo, run, rules, report, watch, ls, show, consolidate, profile, self_managed, laptop, migrate):
        command.add_parser(commands)
    return parser


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the arguments; words of a command with any number of them may also follow its options."""
    arguments, rest = build_parser().parse_known_args(argv)
    if rest:
        command: argparse.ArgumentParser = arguments.command
        if arguments.words is None or any(word.startswith("-") for word in rest):
            command.error(f"unrecognized arguments: {' '.join(rest)}")
        getattr(arguments, arguments.words).extend(rest)
    if arguments.run is None:  # no command was given: list the commands
        arguments.command.print_help(sys.stderr)
        raise SystemExit(EXIT_USAGE)
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The arguments; those of the process by default.

    Returns:
        The exit status: 0 nothing found, 1 a rule found an issue, 2 wrong usage or an error.
    """
    try:
        arguments = _parse(argv)
        status: int = arguments.run(arguments)
    except SystemExit as stop:  # raised by argparse after --help and on wrong arguments
        return stop.code if isinstance(stop.code, int) else EXIT_USAGE
    except (DebugExtError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            return _quiet_pipe()
        _output.say(f"sagemaker-debug: {error}")
        return EXIT_USAGE
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a defect of ours must not look like the status of a rule that found an issue
        _output.say(f"sagemaker-debug: AWS: {error}" if _is_from_aws(error) else traceback.format_exc())
        return EXIT_USAGE
    return status


def _is_from_aws(error: Exception) -> bool:
    """Return whether a call of AWS failed, such as for want of a region or of a job with that name."""
    return type(error).__module__.startswith("botocore.")


def _quiet_pipe() -> int:
    """Exit silently after the reader of the output, such as ``head``, has ended."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
