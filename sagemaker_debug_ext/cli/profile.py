"""``sagemaker-debug profile``: what the profiler recorded of a job."""

from __future__ import annotations

import argparse
from typing import Any

from sagemaker_debug_ext.cli import _arguments, _output


def add_parser(commands: Any) -> None:
    """Add the commands."""
    profile = commands.add_parser("profile", help="Look at the profiler data of a job.")
    profile.set_defaults(command=profile)
    actions = profile.add_subparsers(title="commands", metavar="COMMAND")
    summary = "Write all profiler data as one trace, which https://ui.perfetto.dev opens."
    trace = _arguments.add_command(actions, "trace", summary, run_trace)
    trace.add_argument("profile", metavar="PATH", help="folder profiler-output of a job, local or s3://bucket/prefix")
    trace.add_argument("output", metavar="OUT", help="file to write, compressed if its name ends with .gz")
    _arguments.add_json(trace)


def run_trace(arguments: argparse.Namespace) -> int:
    """Write a trace."""
    from sagemaker_debug_ext.profiler.trace_export import write_trace

    counts = write_trace(arguments.profile, arguments.output)
    if arguments.json:
        _output.write_json({"path": arguments.output, **counts._asdict()})
    else:
        _output.write(f"{arguments.output}: {counts.spans} spans, {counts.counters} values of counters")
    return 0
