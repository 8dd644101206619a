"""``sagemaker-debug demo``: capture and evaluate two training jobs on real images."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sagemaker_debug_ext.cli import _arguments, _output, _progress

if TYPE_CHECKING:
    from sagemaker_debug_ext.local.demo import JobReport

_DEFAULT_FOLDER = "sagemaker-debug-demo"


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = _arguments.add_command(
        commands, "demo", "Train a sound and a broken net on real images, with rules watching both.", run
    )
    parser.add_argument("--work-dir", default=_DEFAULT_FOLDER, help="folder for all files (default: %(default)s)")
    parser.add_argument(
        "--epochs", type=_arguments.parse_count, default=40, help="passes over the images (default: %(default)s)"
    )
    parser.add_argument("--show-request", action="store_true", help="print the two requests instead of running them")
    _arguments.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the demo."""
    from sagemaker_debug_ext.local import demo

    requests = demo.demo_requests(arguments.work_dir, arguments.epochs)
    if arguments.show_request:
        _output.write_json(requests)
        return 0
    if not arguments.json:
        _output.say(
            "Two networks learn to read handwritten digits: one is sound, in the other the gradients vanish. Rules "
            "watch both, and stop the broken one."
        )
    if not arguments.json and find_spec("uvicorn") and find_spec("starlette"):
        _output.say(f"To see both jobs while they train: {_command()} serve {_short(arguments.work_dir)}")
    names = [request["TrainingJobName"] for request in requests.values()]
    with _progress.show_progress(names, demo.num_steps(arguments.epochs)) as on_event:
        reports = demo.run_demo(requests, arguments.work_dir, on_event)
    if arguments.json:
        import attrs

        _output.write_json([attrs.asdict(report) for report in reports])
    else:
        for report in reports:
            _print(report)
        _print_next_steps(reports)
    return 0


def _print(report: JobReport) -> None:
    counts = ", ".join(f"{mode} {count}" for mode, count in report.steps.items())
    rows = [
        ("status", report.status),
        ("saved steps", counts),
        ("tensors", report.tensors),
        ("collections", ", ".join(f"{name} ({count})" for name, count in report.collections.items())),
        ("saved", _output.format_bytes(report.saved_bytes)),
        ("accuracy", "not measured" if report.accuracy is None else f"{report.accuracy:.1%}"),
        ("wall time", f"{report.wall_seconds:.1f} s"),
        ("trial", report.trial_path),
        ("report", report.report_path),
    ]
    _output.write(f"\n{report.job_name}")
    for name, value in rows:
        _output.write(f"  {name:<13}{value}")
    rules = [(rule.name, rule.status, rule.first_step) for rule in report.rules]
    _output.write()
    for line in _output.format_table(("RULE", "STATUS", "FIRST STEP"), rules).splitlines():
        _output.write(f"  {line}")
    for rule in report.rules:
        if rule.message:
            _output.write(f"  {rule.name}: {rule.message} {rule.advice}")


def _print_next_steps(reports: list[JobReport]) -> None:
    healthy, broken = (_short(report.trial_path) for report in reports)
    command = _command()
    _output.write("\nOpen in a browser:")
    for report in reversed(reports):
        _output.write(f"  {_short(report.report_path)}")
    captioned = {
        "Which steps and tensors the sound job has saved": f"{command} ls {healthy}",
        "How its loss falls": f"{command} show {healthy} CrossEntropyLoss_output_0",
        "What a rule finds in the broken one": f"{command} rules run {broken} VanishingGradient",
        "Both on one page": f"{command} report {healthy} {broken}",
        "The same page, live": f"{command} watch {healthy} {broken}",
        "The sound job in Python": f"sagemaker_debug_ext.create_trial({healthy!r})",
    }
    for caption, line in captioned.items():
        _output.write(f"\n{caption}:\n  {line}")


def _command() -> str:
    """Return the path of this call, because the command may not be in the user's PATH."""
    command = _short(sys.argv[0])
    is_installed = Path(command).name == "sagemaker-debug"
    return command if is_installed else f"{sys.executable} -m sagemaker_debug_ext.cli.main"


def _short(path: str) -> str:
    """Return a path relative to the working directory if it is below it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
