"""``sagemaker-debug profile``: record how busy a machine is, and look at what was recorded."""

from __future__ import annotations

import argparse
from typing import Any

from sagemaker_debug_ext.cli import _arguments, _output


def add_parser(commands: Any) -> None:
    """Add the commands."""
    profile = commands.add_parser("profile", help="Record how busy a machine is, and look at what was recorded.")
    profile.set_defaults(command=profile)
    actions = profile.add_subparsers(title="commands", metavar="COMMAND")
    _add_run(actions)
    _add_trace(actions)


def _add_profile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("profile", metavar="PATH", help="folder profiler-output of a job, local or s3://bucket/prefix")


def _add_run(actions: Any) -> None:
    summary = "Run a command and record system metrics of this machine meanwhile."
    parser = _arguments.add_command(actions, "run", summary, run_command)
    parser.add_argument("--output", default="profiler-output", help="folder to write (default: %(default)s)")
    parser.add_argument(
        "--interval-millis",
        type=_arguments.parse_count,
        default=500,
        help="time between samples (default: %(default)s)",
    )
    # A single argument takes all words, because with two the first one would consume a ``--`` for the command.
    parser.add_argument("program", metavar="PROGRAM", nargs=argparse.PARSER, help="the command and its arguments")


def _add_trace(actions: Any) -> None:
    summary = "Write all profiler data as one trace, which https://ui.perfetto.dev opens."
    parser = _arguments.add_command(actions, "trace", summary, write_trace)
    _add_profile(parser)
    parser.add_argument("output", metavar="OUT", help="file to write, compressed if its name ends with .gz")
    _arguments.add_json(parser)


def run_command(arguments: argparse.Namespace) -> int:
    """Run a command with a sampler, and return its exit code, or 128 and the number of its signal."""
    import subprocess

    from sagemaker_debug_ext.profiler.sampler import start_sampler

    words = arguments.program[1:] if arguments.program[0] == "--" else arguments.program
    sampler = start_sampler(arguments.output, arguments.interval_millis)
    code = None
    try:
        code = subprocess.run(words, check=False).returncode  # noqa: S603 - the user's own command
    finally:
        sampler.stop(code)
    return code if code >= 0 else 128 - code


def write_trace(arguments: argparse.Namespace) -> int:
    """Write a trace."""
    from sagemaker_debug_ext.profiler import trace_export

    counts = trace_export.write_trace(arguments.profile, arguments.output)
    if arguments.json:
        _output.write_json({"path": arguments.output, **counts._asdict()})
    else:
        _output.write(f"{arguments.output}: {counts.spans} spans, {counts.counters} values of counters")
    return 0
