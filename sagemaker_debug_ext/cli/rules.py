"""``sagemaker-debug rules``: which rules there are, and some of them over a trial."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext.cli import _arguments, _findings, _output, _trials

if TYPE_CHECKING:
    from sagemaker_debug_ext.catalog import ParameterSpec, RuleSpec
    from sagemaker_debug_ext.rules import Explanation, Issue, Rule
    from sagemaker_debug_ext.rules.evaluation.status import RuleStatus
    from sagemaker_debug_ext.trials import Trial

_PLACE: Final = ("RULE", "KIND", "RUNS")

_FEWEST_COLUMNS: Final = 24
"""Meaning and parameters get that much room, however narrow the terminal is."""

_FEWEST_ISSUES: Final = 3
"""So many issues are shown of each rule that was not named, unless more are asked for."""

_SUMMARY: Final = "List the rules, or run some over a trial."

_ABOUT: Final = """Rules evaluate what a trial has saved, while its job runs or afterwards. List them, or run some:
sagemaker-debug rules run TRIAL --recommended."""

_RUN: Final = "Run rules over a trial, and show what they find."

_ABOUT_RUN: Final = """Run rules over a trial, and show the issues that they find; with --recommended also their likely
causes, the likeliest first. For each rule given by name, the output begins with the tensors that it looks at, or the
reason why it gives no verdict. For rules that --recommended or --all choose, the output is shorter: the first issues of
each, and the names of those that find no tensors. Exits with 1 if a rule finds an issue, with 2 if one fails."""


def add_parser(commands: Any) -> None:
    """Add the command with its two parts."""
    parser = commands.add_parser("rules", help=_SUMMARY, description=_ABOUT)
    parser.set_defaults(run=None, command=parser, words=None)
    parts = parser.add_subparsers(title="commands", metavar="COMMAND")
    listing = _arguments.add_command(parts, "list", "List the rules, what they find, and their parameters.", run_list)
    listing.add_argument("--kind", choices=("debugger", "profiler"), help="only rules on tensors, or on metrics")
    _arguments.add_json(listing)
    running = _arguments.add_command(parts, "run", _RUN, run, words="rules", description=_ABOUT_RUN)
    _arguments.add_trial(running)
    running.add_argument(
        "rules", nargs="*", metavar="RULE", help="names of rules, as rules list gives them, or of a class in --source"
    )
    running.add_argument(
        "--recommended",
        action="store_true",
        help="run the rules that suit most jobs, with suitable parameters, and list the likely causes of their issues",
    )
    running.add_argument("--all", action="store_true", help="run every rule that can be run without parameters")
    running.add_argument(
        "-p",
        "--parameter",
        action="append",
        default=[],
        type=parse_pair,
        metavar="[RULE.]NAME=VALUE",
        help="a parameter of a rule, repeatable; without RULE for every rule; rules of --source get the value as text",
    )
    running.add_argument("--source", metavar="FILE", help="Python file with the rules; each runs in its own process")
    running.add_argument("--smdebug", action="store_true", help="let the file import this package as smdebug")
    running.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="maximum time of a rule for a step; each rule then runs in its own process (default for --source: 60)",
    )
    running.add_argument("--output", metavar="FOLDER", help="write the results, and what rules write, into this folder")
    running.add_argument("--report", metavar="FILE", help="write a page that shows the issues and their evidence")
    running.add_argument("--start", type=int, default=0, metavar="STEP", help="first global step to evaluate")
    running.add_argument("--end", type=int, metavar="STEP", help="first global step not to evaluate")
    running.add_argument("--first", action="store_true", help="end each rule at the first step with an issue")
    running.add_argument("--follow", action="store_true", help="wait for more steps until the job ends")
    running.add_argument(
        "--verbose",
        action="store_true",
        help="show for every rule what it looks at, all its issues, and how many steps it evaluated, also with "
        "--recommended or --all",
    )
    _arguments.add_json(running)


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the rules of a page."""
    parser.add_argument("--no-rules", action="store_true", help="run no rules: show what was saved without a verdict")
    parser.add_argument(
        "--rule",
        action="append",
        default=[],
        dest="rules",
        metavar="RULE",
        help="a rule to run, repeatable; by default the rules that suit most jobs",
    )
    parser.add_argument(
        "-p",
        "--parameter",
        action="append",
        default=[],
        type=parse_pair,
        metavar="[RULE.]NAME=VALUE",
        help="a parameter of a rule, repeatable; without RULE for every rule",
    )
    parser.add_argument("--start", type=int, default=0, metavar="STEP", help="first global step that rules evaluate")
    parser.add_argument("--end", type=int, metavar="STEP", help="first global step that rules do not evaluate")


def parse_pair(text: str) -> tuple[str, str]:
    """Parse a parameter of a rule."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE (got {text!r})")
    return name, value


def run_list(arguments: argparse.Namespace) -> int:
    """List the rules."""
    from sagemaker_debug_ext.catalog import list_rule_specs

    specs = list_rule_specs(arguments.kind)
    if arguments.json:
        _output.write_json([_describe(spec) for spec in specs])
    elif sys.stdout.isatty():
        _output.write(_list_table(specs, shutil.get_terminal_size().columns))
    else:  # what goes to another program has a line for each rule
        rows = [(*_place(spec), spec.doc, _parameters(spec)) for spec in specs]
        _output.write(_output.format_table((*_PLACE, "MEANING", "PARAMETERS"), rows))
    return 0


def _list_table(specs: Sequence[RuleSpec], width: int) -> str:
    """Return the list of rules, meaning and parameters on as many lines as they need to fit the width."""
    left = sum(max(map(len, column)) + 2 for column in zip(_PLACE, *map(_place, specs), strict=True))
    wrapper = textwrap.TextWrapper(max(width - left, _FEWEST_COLUMNS), break_long_words=False, break_on_hyphens=False)
    rows: list[tuple[str, ...]] = []
    for spec in specs:
        first, *others = wrapper.wrap(spec.doc) + wrapper.wrap(_parameters(spec))
        rows.append((*_place(spec), first))
        rows += [("", "", "", line) for line in others]
    return _output.format_table((*_PLACE, "MEANING, PARAMETERS"), rows)


def _place(spec: RuleSpec) -> tuple[str, str, str]:
    return spec.name, spec.kind, _where(spec)


def _parameters(spec: RuleSpec) -> str:
    return ", ".join(map(_spell, spec.parameters))


def _where(spec: RuleSpec) -> str:
    """Return where a rule runs; those on profiler data have no class in the catalog, and run by ``profile show``."""
    return "here" if spec.rule_class or spec.kind == "profiler" else "SageMaker"


def _spell(parameter: ParameterSpec) -> str:
    return parameter.name if parameter.default is None else f"{parameter.name}={parameter.default}"


def _describe(spec: RuleSpec) -> dict[str, Any]:
    parameters = [
        {"name": item.name, "type": item.type, "default": item.default, "required": item.required, "doc": item.doc}
        for item in spec.parameters
    ]
    return {"name": spec.name, "kind": spec.kind, "runs": _where(spec), "doc": spec.doc, "parameters": parameters}


def run(arguments: argparse.Namespace) -> int:
    """Run rules over a trial."""
    from sagemaker_debug_ext.rules import evaluate, exit_code, explain
    from sagemaker_debug_ext.rules.causes import likely_causes

    trial = _open_trial(arguments)
    rules, unmade = make_rules(arguments, trial)
    explanations = {name: explain(rule) for name, rule in rules.items()}
    without_tensors = [
        name
        for name, explanation in explanations.items()
        if name not in arguments.rules and _findings.lacks_tensors(explanation)
    ]
    in_detail = set(rules) - set(without_tensors) if arguments.verbose else set(arguments.rules)
    if not arguments.json:
        _findings.announce({name: explanation for name, explanation in explanations.items() if name in in_detail})
        others = explanations.keys() - in_detail - set(without_tensors)
        _findings.summarise([explanations[name] for name in others])
    evaluation = evaluate(
        rules,
        trial,
        start_step=arguments.start,
        end_step=arguments.end,
        stop_rule_on_first_issue=arguments.first,
        follow=arguments.follow,
        output_path=arguments.output,
    )
    issues = []
    num_shown: Counter[str] = Counter()
    for issue in evaluation:
        issues.append(issue)
        if not arguments.json and (issue.rule in in_detail or num_shown[issue.rule] < _FEWEST_ISSUES):
            num_shown[issue.rule] += 1
            _output.write(_findings.issue_line(issue, several=len(rules) > 1))
    causes = likely_causes(issues)
    statuses = (*evaluation.statuses, *unmade)
    if arguments.json:
        _findings.write_json(statuses, issues, explanations, causes)
    else:
        if causes and arguments.recommended:
            _findings.write_causes(causes)
        # what was not there at first may have come while the rules followed the job
        silent = [status for status in statuses if status.name in without_tensors and not _findings.has_news(status)]
        for status in statuses:
            if status not in silent and (status.name in in_detail or status.status != "NoIssuesFound"):
                _output.say(_findings.status_line(status, num_shown[status.name]))
        if silent:
            _output.say(_findings.silent_line([status.name for status in silent]))
        _output.say(_findings.verdict(statuses))
        _name_files(rules, arguments.output)
    _name_report(arguments, trial, issues, evaluation.statuses, explanations)
    return exit_code(statuses)


def _name_files(rules: Mapping[str, Rule], output: str | None) -> None:
    """Name the files that rules have written beside their results, or say what lets a rule write its report."""
    from sagemaker_debug_ext.rules.evaluation.results import RESULT_FILE

    for name, rule in rules.items():
        if output is not None:
            for path in sorted(Path(output, name).glob("*")):
                if path.name != RESULT_FILE:
                    _output.say(f"{name}: wrote {path}")
        elif getattr(rule, "writes_report", False):
            _output.say(f"{name} writes its report if --output names a folder")


def _name_report(
    arguments: argparse.Namespace,
    trial: Trial,
    issues: Sequence[Issue],
    statuses: tuple[RuleStatus, ...],
    explanations: Mapping[str, Explanation],
) -> None:
    """Write the report and name it, or name the command that writes one if there is something to see."""
    if arguments.report is not None:
        from sagemaker_debug_ext.looking import report
        from sagemaker_debug_ext.looking.material import Verdict, gather

        material = gather(trial, Verdict(tuple(issues), statuses, explanations))
        page, _ = report.render((material,), report.ReportOptions())
        report.write_page(arguments.report, page)
        _output.say(f"report: {arguments.report} ({_output.format_bytes(len(page.encode()))})")
    elif issues and not arguments.json:
        _output.say(f"sagemaker-debug report {shlex.quote(arguments.trial)} writes a page with the evidence")


def _open_trial(arguments: argparse.Namespace) -> Trial:
    """Open the trial, once the other arguments have been looked at."""
    from sagemaker_debug_ext.catalog.registry import has_rule
    from sagemaker_debug_ext.errors import SMDebugValueError, TrialNotFoundError
    from sagemaker_debug_ext.trials import create_trial

    if arguments.end is not None and arguments.end <= arguments.start:
        raise SMDebugValueError(f"end must be above start, which is {arguments.start} (got {arguments.end})")
    try:
        path: str = arguments.trial
        trial = create_trial(path, wait_seconds=None) if arguments.follow else _trials.open_for_report(path)
    except TrialNotFoundError as error:
        if not has_rule(arguments.trial):
            raise
        raise SMDebugValueError(f"the trial comes before the rules: rules run TRIAL {arguments.trial}") from error
    if arguments.output is not None:
        _make_folder(arguments.output)
    return trial


def _make_folder(path: str) -> None:
    from sagemaker_debug_ext.errors import SMDebugValueError

    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise SMDebugValueError(
            f"--output must be a folder that can be made (got {path!r}: {error.strerror})"
        ) from error


def make_rules(arguments: argparse.Namespace, trial: Trial) -> tuple[dict[str, Rule], list[RuleStatus]]:
    """Return the rules that the arguments choose, by name, and the status of each that lacks a parameter.

    Raises:
        InsufficientInformationForRuleInvocation: No rule has the parameters that it needs.
        SMDebugValueError: An argument is wrong.
    """
    from sagemaker_debug_ext.errors import InsufficientInformationForRuleInvocation, SMDebugValueError
    from sagemaker_debug_ext.rules import Isolation, create_custom_rule, create_rule
    from sagemaker_debug_ext.rules.recommended import recommended_parameters

    recommended = recommended_parameters(trial) if arguments.recommended else {}
    names = list(dict.fromkeys([*arguments.rules, *recommended, *(_all_names() if arguments.all else ())]))
    if not names:
        raise SMDebugValueError("give the names of rules, --recommended or --all")
    chosen = parameters_of(arguments.parameter, names)
    given = {name: {**recommended.get(name, {}), **chosen[name]} for name in names}
    isolation = None if arguments.timeout is None else Isolation(timeout_seconds=arguments.timeout)
    if arguments.source is not None:
        options = {"isolation": isolation or Isolation(), "smdebug_alias": arguments.smdebug}
        return {name: create_custom_rule(arguments.source, name, trial, given[name], **options) for name in names}, []
    rules: dict[str, Rule] = {}
    unmade = []
    for name in names:
        missing = _missing(name, given[name])
        if missing and len(names) > 1:
            unmade.append(_unmade(name, f"{missing} must be given"))
            continue
        try:
            rules[name] = create_rule(name, trial, given[name], isolation=isolation)
        except InsufficientInformationForRuleInvocation as error:
            if len(names) == 1:
                raise
            unmade.append(_unmade(name, error.message))
        except SMDebugValueError as error:
            if len(names) == 1 or all("." in key for key, _ in arguments.parameter):
                raise
            raise SMDebugValueError(f"{error} (-p RULE.NAME=VALUE is for one of several rules)") from error
    if not rules:
        raise SMDebugValueError("; ".join(f"{status.name}: {status.details}" for status in unmade))
    return rules, unmade


def _missing(name: str, given: dict[str, Any]) -> str:
    """Return the names of required parameters that are not given; empty if there are none."""
    from sagemaker_debug_ext.catalog.registry import get_rule_spec, has_rule

    parameters = get_rule_spec(name).parameters if has_rule(name) else ()
    return ", ".join(parameter.name for parameter in parameters if parameter.required and not given.get(parameter.name))


def _unmade(name: str, reason: str) -> RuleStatus:
    """Return the status of a rule that lacks a parameter."""
    from sagemaker_debug_ext.rules.evaluation.status import RuleStatus

    details = f"not evaluated: {reason} (-p {name}.NAME=VALUE gives a parameter)"
    return RuleStatus(name=name, rule=name, status="Error", details=details)


def _all_names() -> list[str]:
    """Return the rules that run here and can do without parameters."""
    from sagemaker_debug_ext.catalog import list_rule_specs

    specs = list_rule_specs("debugger")
    return [
        spec.name
        for spec in specs
        if spec.rule_class
        and not any(parameter.required for parameter in spec.parameters)
        and all(any(spec.parameter(name).default for name in group) for group in spec.at_least_one_of)
    ]


def parameters_of(pairs: list[tuple[str, str]], names: list[str]) -> dict[str, dict[str, str]]:
    """Return the parameters of each rule."""
    from sagemaker_debug_ext.errors import SMDebugValueError, did_you_mean

    given: dict[str, dict[str, str]] = {name: {} for name in names}
    for key, value in pairs:
        rule, dot, rest = key.partition(".")
        if dot and rule not in given:
            raise SMDebugValueError(
                f"--parameter must name one of the rules that are run (got {rule!r}){did_you_mean(rule, names)}"
            )
        for owner in [rule] if dot else names:
            given[owner][rest if dot else key] = value
    return given
