"""``sagemaker-debug consolidate``: make a trial faster to open."""

from __future__ import annotations

import argparse
from typing import Any

from sagemaker_debug_ext.cli import _arguments, _output, _trials


def add_parser(commands: Any) -> None:
    """Add the command."""
    summary = "Merge the index files of a trial into one additional file, so that it opens faster."
    parser = _arguments.add_command(commands, "consolidate", summary, run)
    _arguments.add_trial(parser)
    parser.add_argument(
        "--summary",
        action="store_true",
        help="also run the recommended rules, and write what a report shows, so that a report needs few requests",
    )
    _arguments.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the consolidated index of a trial, and its summary if that is asked for."""
    from sagemaker_debug_ext.trials import create_trial

    if arguments.summary:
        trial = _trials.open_for_report(arguments.trial)
    else:
        trial = create_trial(arguments.trial, index_mode=False, wait_seconds=0)
    done: dict[str, Any] = {"path": trial.path, "index_files": trial.consolidate()}
    text = f"{trial.path}: consolidated {done['index_files']} index files"
    if arguments.summary:
        from sagemaker_debug_ext.looking import write_summary

        done["summary_bytes"] = write_summary(trial)
        text += f", and wrote a summary of {_output.format_bytes(done['summary_bytes'])}"
    if arguments.json:
        _output.write_json(done)
    else:
        _output.write(text)
    return 0
