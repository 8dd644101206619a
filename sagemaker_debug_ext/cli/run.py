"""``sagemaker-debug run``: run an unmodified training script or module and capture its tensors."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from sagemaker_debug_ext.cli import _arguments
from sagemaker_debug_ext.errors import SMDebugValueError

_DESCRIPTION = (
    "Run an unmodified training script and capture the tensors in its hook configuration file. The environment "
    "variable SMDEBUG_CONFIG_FILE_PATH names this file, which SageMaker jobs have by default; without one, the script "
    "runs without capture. This file saves all tensors every 10 steps to the folder runs/first: "
    '{"LocalPath": "runs/first", "HookParameters": {"save_all": "true", "save_interval": "10"}}'
)


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = _arguments.add_command(
        commands,
        "run",
        "Run an unmodified training script and capture the tensors in its hook configuration file.",
        run,
        description=_DESCRIPTION,
    )
    parser.add_argument("-m", dest="is_module", action="store_true", help="SCRIPT is a module, as for python -m")
    # A single argument takes all words, because with two the first one would consume a ``--`` for the script.
    parser.add_argument("script", metavar="SCRIPT", nargs=argparse.PARSER, help="the script, followed by its arguments")


def run(arguments: argparse.Namespace) -> NoReturn:
    """Replace this process by the script, which then has its own exit status, signals and output."""
    import os
    import sys

    words = arguments.script[1:] if arguments.script[0] == "--" else arguments.script
    script = words[0]
    if arguments.is_module:
        words = ["-m", *words]
    elif not (os.path.isfile(script) or os.path.isfile(os.path.join(script, "__main__.py"))):
        raise SMDebugValueError(f"script must be an existing Python file (got {script!r})")
    program = [sys.executable, "-m", "sagemaker_debug_ext.auto", *words]
    sys.stdout.flush()
    os.execv(sys.executable, program)  # noqa: S606 - no shell is wanted
