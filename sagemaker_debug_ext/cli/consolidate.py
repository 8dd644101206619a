"""``sagemaker-debug consolidate``: make a trial faster to open."""

from __future__ import annotations

import argparse
from typing import Any

from sagemaker_debug_ext.cli import _arguments, _output


def add_parser(commands: Any) -> None:
    """Add the command."""
    summary = "Merge the index files of a trial into one additional file, so that it opens faster."
    parser = _arguments.add_command(commands, "consolidate", summary, run)
    _arguments.add_trial(parser)
    _arguments.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the consolidated index of a trial."""
    from sagemaker_debug_ext.trials import create_trial

    trial = create_trial(arguments.trial, index_mode=False, wait_seconds=0)
    num_files = trial.consolidate()
    if arguments.json:
        _output.write_json({"path": trial.path, "index_files": num_files})
    else:
        _output.write(f"{trial.path}: consolidated {num_files} index files")
    return 0
