"""``sagemaker-debug laptop``: SageMaker on this machine, for scripts that submit jobs."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from sagemaker_debug_ext.cli import _arguments, _output
from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugValueError

if TYPE_CHECKING:
    from sagemaker_debug_ext.laptop import LaptopServer

_DEFAULT_FOLDER: Final = "sagemaker-laptop"
_DEFAULT_PORT: Final = 5100
_SUMMARY: Final = "Run a server on this machine that takes and runs SageMaker training jobs."
_DESCRIPTION: Final = (
    "Run a server on this machine that speaks the APIs of SageMaker, S3 and other services, and runs training jobs "
    "here. It prints the variables that point clients at it, and runs until it is interrupted."
)
_RUN: Final = (
    "Start such a server, and run an unmodified script that submits training jobs to it; then wait for the jobs, and "
    "print their statuses and those of their rules. Exit status: that of the script."
)
_INTERRUPT: Final = (
    "Kill a training job of the server that uses the work folder, as if its Spot instance were taken away, and start "
    "it again: in an empty container, with the checkpoints that are on S3."
)


def add_parser(commands: Any) -> None:
    """Add the command and its own command."""
    parser = _arguments.add_command(commands, "laptop", _SUMMARY, serve, description=_DESCRIPTION)
    parser.add_argument("--work-dir", default=_DEFAULT_FOLDER, help="folder for jobs and S3 (default: %(default)s)")
    parser.add_argument("--host", help="address to listen at (default: 127.0.0.1, which only this machine reaches)")
    parser.add_argument("--port", type=int, help=f"port to listen at (default: {_DEFAULT_PORT}; run: any free one)")
    parser.add_argument("--region", default="us-east-1", help="region of jobs and clients (default: %(default)s)")
    parser.add_argument(
        "--debugger",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="accept Debugger members in requests, as for accounts with access to the service (default: refuse)",
    )
    parser.add_argument(
        "--isolation",
        choices=("namespace", "process"),
        help="how jobs run: with their folder as /opt/ml, or as plain processes (default: namespace, if permitted)",
    )
    parser.add_argument(
        "--deny",
        action="append",
        default=[],
        metavar="ACTION",
        help="an action that the roles of jobs may not call, such as sagemaker:StopTrainingJob; repeatable",
    )
    parts = parser.add_subparsers(title="commands", metavar="COMMAND")
    script = _arguments.add_command(parts, "run", "Run a script that submits jobs.", run, description=_RUN)
    script.add_argument("script", metavar="SCRIPT", nargs=argparse.PARSER, help="the script and its arguments")
    interrupted = _arguments.add_command(
        parts, "interrupt", "Kill a job and start it again.", interrupt, description=_INTERRUPT
    )
    interrupted.add_argument("job", metavar="JOB", help="name of a training job that runs")


def serve(arguments: argparse.Namespace) -> NoReturn:
    """Run the server until it is interrupted."""
    import signal
    import sys
    import time

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # jobs are stopped, and S3 is saved
    with _server(arguments, _DEFAULT_PORT) as server:
        _output.write(server.export_lines())
        sys.stdout.flush()  # a program at the other end of a pipe waits for these lines
        _output.say(f"SageMaker runs at {server.url}; jobs and S3 lie in {arguments.work_dir}; interrupt to stop")
        while True:  # a Ctrl-C that the system gives to another thread is seen when this one wakes
            time.sleep(1)


def run(arguments: argparse.Namespace) -> int:
    """Run a script against a server, and report its jobs."""
    import subprocess
    import sys

    words = arguments.script[1:] if arguments.script[0] == "--" else arguments.script
    if not os.path.isfile(words[0]):
        raise SMDebugValueError(f"script must be an existing Python file (got {words[0]!r})")
    with _server(arguments, 0) as server:
        command = [sys.executable, "-m", "sagemaker_debug_ext.laptop.script", *words]
        status = subprocess.run(command, env=server.environment(), check=False).returncode  # noqa: S603 - the user's script
        server.wait()
        _report(server)
    return status


def interrupt(arguments: argparse.Namespace) -> int:
    """Kill a job of a running server, which starts it again."""
    from sagemaker_debug_ext.laptop.api import call
    from sagemaker_debug_ext.laptop.jobs.training import INTERRUPT, NAME
    from sagemaker_debug_ext.laptop.server import URL_FILE

    try:
        url = Path(arguments.work_dir, URL_FILE).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise SMDebugRuntimeError(f"no server uses the work folder {arguments.work_dir!r}; see --work-dir") from error
    call(url, INTERRUPT, {NAME: arguments.job})
    return 0


@contextlib.contextmanager
def _server(arguments: argparse.Namespace, port: int) -> Iterator[LaptopServer]:
    """Run the server that the arguments describe, and point the clients of this process at it."""
    from sagemaker_debug_ext.laptop import LaptopServer
    from sagemaker_debug_ext.laptop.containers import has_namespaces

    isolation = arguments.isolation or ("namespace" if has_namespaces() else "process")
    if isolation == "process" and arguments.isolation is None:
        _output.say("this machine permits no namespaces: jobs do not find their folder as /opt/ml")
    server = LaptopServer(
        arguments.work_dir,
        host=arguments.host or "127.0.0.1",
        port=port if arguments.port is None else arguments.port,
        region=arguments.region,
        has_debugger=arguments.debugger,
        in_namespace=isolation == "namespace",
        denied=arguments.deny,
    )
    os.environ.update(server.client_variables())
    with server:
        yield server


def _report(server: LaptopServer) -> None:
    """Print the statuses of jobs and of their rules."""
    from sagemaker_debug_ext.sdk.self_managed import with_rule_statuses

    rows = []
    for name in server.jobs.names:
        description = with_rule_statuses(server.jobs.describe({"TrainingJobName": name}))
        rows.append((name, description["TrainingJobStatus"], "", ""))
        for rule in description.get("DebugRuleEvaluationStatuses", ()):
            details = rule.get("StatusDetails", "")
            rows.append(("", "", rule["RuleConfigurationName"], f"{rule['RuleEvaluationStatus']} {details}".strip()))
    if rows:
        _output.write(_output.format_table(("JOB", "STATUS", "RULE", "RESULT"), rows))
