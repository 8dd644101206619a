"""``sagemaker-debug run``: a training script or module as it is, with its tensors captured."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from sagemaker_debug_ext.cli import _arguments
from sagemaker_debug_ext.errors import SMDebugValueError

_SCRIPT = (
    "the script, and its arguments after it; its hook configuration file is the one that the environment variable "
    "SMDEBUG_CONFIG_FILE_PATH names, or that of a SageMaker job, and without one it just runs"
)


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = _arguments.add_command(
        commands,
        "run",
        "Run a training script as it is, capturing what its hook configuration file asks for.",
        run,
    )
    parser.add_argument("-m", dest="is_module", action="store_true", help="SCRIPT is a module, as for python -m")
    # One argument takes all: were they two, the first would swallow a ``--`` that is meant for the script.
    parser.add_argument("script", metavar="SCRIPT", nargs=argparse.PARSER, help=_SCRIPT)


def run(arguments: argparse.Namespace) -> NoReturn:
    """Become the script: exit status, signals and output are its own."""
    import os
    import sys

    words = arguments.script[1:] if arguments.script[0] == "--" else arguments.script
    script = words[0]
    if arguments.is_module:
        words = ["-m", *words]
    elif not (os.path.isfile(script) or os.path.isfile(os.path.join(script, "__main__.py"))):
        raise SMDebugValueError(f"script must be a Python file that is there (got {script!r})")
    program = [sys.executable, "-m", "sagemaker_debug_ext.auto", *words]
    sys.stdout.flush()
    os.execv(sys.executable, program)  # noqa: S606 - no shell is wanted
