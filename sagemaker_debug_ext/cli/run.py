"""``sagemaker-debug run``: run an unmodified training script or module and capture its tensors."""

from __future__ import annotations

import argparse
from typing import Any, Final, NoReturn

from sagemaker_debug_ext.cli import _arguments
from sagemaker_debug_ext.errors import SMDebugValueError

_DESCRIPTION = (
    "Run an unmodified training script and capture its tensors. With --output, all tensors are saved every few steps, "
    "so that sagemaker-debug rules run FOLDER --recommended can say what is wrong. Without it, a hook configuration "
    "file says what to save and where; the environment variable SMDEBUG_CONFIG_FILE_PATH names the file, which "
    "SageMaker jobs have by default. With neither, the script runs without capture."
)
_INTERVAL: Final = 10
"""Number of steps from one saved step to the next, with which short trainings give rules enough steps."""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = _arguments.add_command(
        commands,
        "run",
        "Run an unmodified training script and capture its tensors.",
        run,
        description=_DESCRIPTION,
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", help="save all tensors to this new folder")
    parser.add_argument(
        "--every",
        type=_arguments.parse_count,
        metavar="N",
        help=f"with --output: number of steps from one saved step to the next ({_INTERVAL} by default)",
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
    if arguments.output is not None:
        os.environ["SMDEBUG_CONFIG_FILE_PATH"] = _write_configuration(arguments.output, arguments.every or _INTERVAL)
        sys.stderr.write(
            f"saving to {arguments.output}; then: sagemaker-debug rules run {arguments.output} --recommended\n"
        )
    elif arguments.every is not None:
        raise SMDebugValueError("--every needs --output; otherwise the hook configuration file has the interval")
    program = [sys.executable, "-m", "sagemaker_debug_ext.auto", *words]
    sys.stdout.flush()
    os.execv(sys.executable, program)  # noqa: S606 - no shell is wanted


def _write_configuration(folder: str, interval: int) -> str:
    """Write a hook configuration file that saves everything to a folder, into that folder, and return its path."""
    import json
    import os

    from sagemaker_debug_ext.store.backends.fileio import atomic_write

    place, name = os.path.abspath(folder), "hook.json"
    is_new = not os.path.lexists(place)
    if not is_new and not (os.path.isdir(place) and set(os.listdir(place)) <= {name}):  # of a script that failed early
        raise SMDebugValueError(f"--output must be a new or empty folder (got {folder!r})")
    os.makedirs(place, exist_ok=True)
    path = os.path.join(place, name)
    settings = {"LocalPath": place, "HookParameters": {"save_all": "true", "save_interval": str(interval)}}
    atomic_write(path, json.dumps(settings, indent=2).encode())
    return path
