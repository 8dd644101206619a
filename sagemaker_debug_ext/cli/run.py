"""``sagemaker-debug run``: a training script as it is, with its tensors captured."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from sagemaker_debug_ext.cli import _arguments
from sagemaker_debug_ext.errors import SMDebugValueError

_SCRIPT = (
    "the script; its hook configuration file is the one that the environment variable SMDEBUG_CONFIG_FILE_PATH names, "
    "or that of a SageMaker job, and without one it just runs"
)


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = _arguments.add_command(
        commands,
        "run",
        "Run a training script as it is, capturing what its hook configuration file asks for.",
        run,
    )
    parser.add_argument("script", metavar="SCRIPT", help=_SCRIPT)
    rest = parser.add_argument(
        "arguments", metavar="ARGUMENT ...", nargs=argparse.REMAINDER, help="arguments of the script"
    )
    rest.required = False  # or it is said to be missing where SCRIPT is


def run(arguments: argparse.Namespace) -> NoReturn:
    """Become the script: exit status, signals and output are its own."""
    import os
    import sys

    if not (os.path.isfile(arguments.script) or os.path.isfile(os.path.join(arguments.script, "__main__.py"))):
        raise SMDebugValueError(f"script must be a Python file that is there (got {arguments.script!r})")
    program = [sys.executable, "-m", "sagemaker_debug_ext.auto", arguments.script, *arguments.arguments]
    sys.stdout.flush()
    os.execv(sys.executable, program)  # noqa: S606 - no shell is wanted
