"""``sagemaker-debug profile``: record how busy a machine is, and look at what was recorded."""

from __future__ import annotations

import argparse
import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any, Final

from sagemaker_debug_ext.cli import _arguments, _output

_SUMMARY: Final = "Record how busy a machine is, and look at what was recorded."


def add_parser(commands: Any) -> None:
    """Add the commands."""
    profile = commands.add_parser("profile", help=_SUMMARY, description=_SUMMARY)
    profile.set_defaults(command=profile)
    actions = profile.add_subparsers(title="commands", metavar="COMMAND")
    _add_run(actions)
    _add_show(actions)
    _add_report(actions)
    _add_trace(actions)


def _add_profile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("profile", metavar="PATH", help="folder profiler-output of a job, local or s3://bucket/prefix")


def _add_run(actions: Any) -> None:
    summary = "Run a command, and record its training steps and the system metrics of this machine."
    parser = _arguments.add_command(actions, "run", summary, run_command)
    parser.add_argument("--output", default="profiler-output", help="folder to write (default: %(default)s)")
    parser.add_argument(
        "--interval-millis",
        type=_arguments.parse_count,
        default=500,
        help="milliseconds between samples (default: %(default)s)",
    )
    # A single argument takes all words, because with two the first one would consume a ``--`` for the command.
    parser.add_argument("program", metavar="PROGRAM", nargs=argparse.PARSER, help="the command and its arguments")


def _add_show(actions: Any) -> None:
    summary = "Show what is slow and what to change, by the rules of ProfilerReport or those given by --rule."
    parser = _arguments.add_command(actions, "show", summary, show)
    _add_profile(parser)
    _add_rules(parser)
    _arguments.add_json(parser)


def _add_rules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rule", action="append", metavar="NAME", help="evaluate this rule; may be repeated")
    parser.add_argument(
        "--parameter",
        action="append",
        default=[],
        metavar="RULE_NAME=VALUE",
        help="a parameter of a rule, such as CPUBottleneck_threshold=30; may be repeated",
    )
    parser.add_argument("--follow", action="store_true", help="wait for more data until the job has ended")


def _add_report(actions: Any) -> None:
    summary = "Write the JSON files of ProfilerReport, or a page that shows when the job was slow and what to change."
    parser = _arguments.add_command(actions, "report", summary, write_report)
    _add_profile(parser)
    parser.add_argument(
        "output", metavar="OUT", nargs="?", help="folder for the JSON files, local or s3://bucket/prefix"
    )
    parser.add_argument("-o", "--page", metavar="FILE", help="page to write, local or s3://bucket/key")
    _add_rules(parser)
    _arguments.add_json(parser)


def _add_trace(actions: Any) -> None:
    summary = "Write all profiler data as one trace, which https://ui.perfetto.dev opens."
    parser = _arguments.add_command(actions, "trace", summary, write_trace)
    _add_profile(parser)
    parser.add_argument("output", metavar="OUT", help="file to write, compressed if its name ends with .gz")
    _arguments.add_json(parser)


def run_command(arguments: argparse.Namespace) -> int:
    """Run a command with a sampler, and return its exit code, or 128 and the number of its signal."""
    import os
    import subprocess

    from sagemaker_debug_ext.profiler.sampler import start_sampler
    from sagemaker_debug_ext.profiler.timeline.start import timeline_environment

    words = arguments.program[1:] if arguments.program[0] == "--" else arguments.program
    sampler = start_sampler(arguments.output, arguments.interval_millis)
    code = None
    try:
        environment = timeline_environment(arguments.output, os.environ)
        code = subprocess.run(words, check=False, env=environment).returncode  # noqa: S603 - the user's own command
    finally:
        sampler.stop(code)
    return code if code >= 0 else 128 - code


def _evaluate(arguments: argparse.Namespace) -> Any:
    """Evaluate the rules that were asked for."""
    from sagemaker_debug_ext.profiler.rules import ProfileEvaluation

    evaluation = ProfileEvaluation(arguments.profile, _create_rules(arguments))
    if arguments.follow:
        evaluation.follow(_print_new_findings() if not arguments.json else lambda _: None)
    else:
        evaluation.advance()
    return evaluation


def _create_rules(arguments: argparse.Namespace, default: Sequence[str] = ()) -> list[Any]:
    """Return the rules that were asked for, or those of ProfilerReport and some others."""
    from sagemaker_debug_ext.errors import SMDebugValueError
    from sagemaker_debug_ext.profiler.rules import create_profiler_rule, create_report_rules
    from sagemaker_debug_ext.profiler.rules.registry import SAGEMAKER_RULES

    parameters: dict[str, object] = {}
    for text in arguments.parameter:
        name, separator, value = text.partition("=")
        if not separator:
            raise SMDebugValueError(f"--parameter must be RULE_NAME=VALUE (got {text!r})")
        parameters[name] = value
    own: dict[str, dict[str, object]] = {name: {} for name in set(arguments.rule or default) - set(SAGEMAKER_RULES)}
    for name in [name for name in parameters if name.partition("_")[0] in own]:
        rule, _, parameter = name.partition("_")
        own[rule][parameter] = parameters.pop(name)
    rules = create_report_rules(parameters)
    if arguments.rule:
        rules = [rule for rule in rules if rule.name in arguments.rule]
    return rules + [create_profiler_rule(name, given) for name, given in sorted(own.items())]


def _print_new_findings() -> Callable[[Sequence[Any]], None]:
    """Return a function that prints each finding of some rules when it is there for the first time."""
    known: set[tuple[str, str, str]] = set()

    def show_new(rules: Sequence[Any]) -> None:
        for rule in rules:
            for finding in rule.findings:
                place = (rule.name, finding.node, finding.device)
                if place not in known:
                    known.add(place)
                    _output.write(f"{rule.name}: {_describe(finding)}")

    return show_new


def _describe(finding: Any) -> str:
    start, end = (
        dt.datetime.fromtimestamp(time, dt.timezone.utc).strftime("%H:%M:%S") for time in (finding.start, finding.end)
    )
    return f"{start}-{end} UTC  {finding.message}"


def show(arguments: argparse.Namespace) -> int:
    """Print verdicts and findings; the exit status is 1 if a rule found an issue."""
    from sagemaker_debug_ext.profiler.rules import Verdict, summarize

    evaluation = _evaluate(arguments)
    evaluation.check_data()
    if arguments.json:
        _output.write_json({"rules": summarize(evaluation.rules), "problems": evaluation.problems})
    else:
        for rule in evaluation.rules:
            reason = rule.not_evaluated() if rule.verdict is Verdict.NOT_EVALUATED else None
            _output.write(f"{rule.name}: {rule.verdict.value}{f' ({reason})' if reason else ''}")
            for finding in rule.findings:
                _output.write(f"  {_describe(finding)}")
            if rule.findings and rule.advice:
                _output.write(f"  {rule.advice}")
    return int(any(rule.triggered for rule in evaluation.rules))


def write_report(arguments: argparse.Namespace) -> int:
    """Write the files of a report, a page, or both; the exit status is 1 if a rule found an issue."""
    from sagemaker_debug_ext.errors import SMDebugValueError
    from sagemaker_debug_ext.profiler import rules
    from sagemaker_debug_ext.profiler.rules.registry import EXTRA_RULES, SAGEMAKER_RULES

    if arguments.output is None and arguments.page is None:
        raise SMDebugValueError("name a folder for the JSON files, or a page with -o")
    if arguments.page is None:
        evaluation = _evaluate(arguments)
        evaluation.check_data()
    else:
        if arguments.follow:
            _wait_for_the_end(arguments.profile)
        from sagemaker_debug_ext.looking.profile.page import write_profile_page

        evaluation = write_profile_page(
            arguments.profile, arguments.page, _create_rules(arguments, default=sorted(EXTRA_RULES))
        )
    names: list[str] = []
    if arguments.output is not None:
        of_report = [rule for rule in evaluation.rules if arguments.rule or rule.name in SAGEMAKER_RULES]
        names = rules.write_report(of_report, arguments.output)
    if arguments.json:
        _output.write_json({"path": arguments.output, "files": names, "page": arguments.page})
    else:
        if names:
            _output.write(f"{arguments.output}: {len(names)} files")
        if arguments.page is not None:
            _output.write(arguments.page)
    return int(any(rule.triggered for rule in evaluation.rules))


def _wait_for_the_end(path: str) -> None:
    from sagemaker_debug_ext.profiler.rules import ProfileEvaluation

    ProfileEvaluation(path, []).follow()


def write_trace(arguments: argparse.Namespace) -> int:
    """Write a trace."""
    from sagemaker_debug_ext.profiler import trace_export

    counts = trace_export.write_trace(arguments.profile, arguments.output)
    if arguments.json:
        _output.write_json({"path": arguments.output, **counts._asdict()})
    else:
        _output.write(f"{arguments.output}: {counts.spans} spans, {counts.counters} values of counters")
    return 0
