"""``sagemaker-debug rules``: which rules there are, and some of them over a trial."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext.cli import _arguments, _output

if TYPE_CHECKING:
    from sagemaker_debug_ext.catalog import ParameterSpec, RuleSpec
    from sagemaker_debug_ext.rules import Evaluation, Explanation, Issue, Rule
    from sagemaker_debug_ext.rules.causes import LikelyCause
    from sagemaker_debug_ext.rules.status import RuleStatus
    from sagemaker_debug_ext.trials import Trial

_FEWEST_COLUMNS: Final = 24
"""Parameters get that much room, however narrow the terminal is."""

_RUN = """Run rules over a trial. Before the first step each says which tensors it will look at, and why it will give no
verdict if it finds none; rules that --recommended or --all chose, and that do not find theirs, are named at the end
instead. Exits with 1 if a rule finds an issue, with 2 if one fails. With --recommended, what may be
behind the issues comes after them, the likeliest cause first."""


def add_parser(commands: Any) -> None:
    """Add the command with its two parts."""
    parser = commands.add_parser("rules", help="List the rules, or run some over a trial.")
    parts = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listing = _arguments.add_command(parts, "list", "List the rules and their parameters.", run_list)
    listing.add_argument("--kind", choices=("debugger", "profiler"), help="only rules on tensors, or on metrics")
    _arguments.add_json(listing)
    running = _arguments.add_command(parts, "run", _RUN, run, words="rules")
    _arguments.add_trial(running)
    running.add_argument(
        "rules", nargs="*", metavar="RULE", help="names of rules, as rules list gives them, or of a class in --source"
    )
    running.add_argument(
        "--recommended",
        action="store_true",
        help="run the rules that suit most jobs, with parameters that do, and tell likely causes of what they find",
    )
    running.add_argument("--all", action="store_true", help="run every rule that can be run without parameters")
    running.add_argument(
        "-p",
        "--parameter",
        action="append",
        default=[],
        type=_pair,
        metavar="[RULE.]NAME=VALUE",
        help="repeatable; without RULE for every rule given",
    )
    running.add_argument("--source", metavar="FILE", help="Python file that has the rules; they run in own processes")
    running.add_argument("--smdebug", action="store_true", help="let the file import this package as smdebug")
    running.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="longest time of a rule for a step; the rules run in own processes, those of --source always (60)",
    )
    running.add_argument("--output", metavar="FOLDER", help="write the results, and what rules write, into this folder")
    running.add_argument("--start", type=int, default=0, metavar="STEP", help="first global step to judge")
    running.add_argument("--end", type=int, metavar="STEP", help="first global step not to judge")
    running.add_argument("--first", action="store_true", help="end each rule at the first step with an issue")
    running.add_argument("--follow", action="store_true", help="wait for more steps until the job ends")
    _arguments.add_json(running)


def _pair(text: str) -> tuple[str, str]:
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
    else:
        rows = [(spec.name, spec.kind, _where(spec), [_spell(each) for each in spec.parameters]) for spec in specs]
        # what goes to another program has a line for each rule
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
        _output.write(_list_table(rows, width))
    return 0


def _list_table(rows: Sequence[tuple[str, str, str, list[str]]], width: int) -> str:
    """Return the list of rules, its parameters on as many lines as they need to fit the width."""
    left = sum(max(len(row[column]) for row in rows) + 2 for column in range(3))
    cells: list[tuple[str, str, str, str]] = []
    for name, kind, where, parameters in rows:
        lines = textwrap.wrap(
            ", ".join(parameters), max(width - left, _FEWEST_COLUMNS), break_long_words=False, break_on_hyphens=False
        )
        cells.append((name, kind, where, lines[0] if lines else ""))
        cells += [("", "", "", line) for line in lines[1:]]
    return _output.format_table(("RULE", "KIND", "RUNS", "PARAMETERS"), cells)


def _where(spec: RuleSpec) -> str:
    return "here" if spec.rule_class else "SageMaker"


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
    from sagemaker_debug_ext.errors import SMDebugValueError
    from sagemaker_debug_ext.rules import evaluate, exit_code, explain
    from sagemaker_debug_ext.rules.causes import likely_causes
    from sagemaker_debug_ext.trials import create_trial

    if arguments.end is not None and arguments.end <= arguments.start:
        raise SMDebugValueError(f"end must be above start, which is {arguments.start} (got {arguments.end})")
    trial = create_trial(arguments.trial)
    rules = _make_rules(arguments, trial)
    explanations = {name: explain(rule) for name, rule in rules.items()}
    without_tensors = [
        name
        for name, explanation in explanations.items()
        if name not in arguments.rules and _lacks_tensors(explanation)
    ]
    if not arguments.json:
        _announce({name: each for name, each in explanations.items() if name not in without_tensors})
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
    for issue in evaluation:
        issues.append(issue)
        if not arguments.json:
            _output.write(_line(issue, several=len(rules) > 1))
    causes = likely_causes(issues) if arguments.recommended else None
    if arguments.json:
        _write_json(evaluation, issues, explanations, causes)
    else:
        if causes:
            _write_causes(causes)
        # what was not there at first may have come while the rules followed the job
        silent = [each for each in evaluation.statuses if each.name in without_tensors and not _has_news(each)]
        for status in evaluation.statuses:
            if status in silent:
                continue
            judged = f"{status.num_steps} steps judged, {status.num_skipped} without what the rule needs"
            _output.say(f"{status.name}: {status.status}, {judged} {status.details}".rstrip())
        if silent:
            _output.say(_silent_line([status.name for status in silent]))
    return exit_code(evaluation.statuses)


def _make_rules(arguments: argparse.Namespace, trial: Trial) -> dict[str, Rule]:
    from sagemaker_debug_ext.errors import SMDebugValueError
    from sagemaker_debug_ext.rules import Isolation, create_custom_rule, create_rule
    from sagemaker_debug_ext.rules.recommended import recommended_parameters

    recommended = recommended_parameters(trial) if arguments.recommended else {}
    names = list(dict.fromkeys([*arguments.rules, *recommended, *(_all_names() if arguments.all else ())]))
    if not names:
        raise SMDebugValueError("give the names of rules, --recommended or --all")
    chosen = _parameters(arguments.parameter, names)
    given = {name: {**recommended.get(name, {}), **chosen[name]} for name in names}
    isolation = None if arguments.timeout is None else Isolation(timeout_seconds=arguments.timeout)
    if arguments.source is None:
        return {name: create_rule(name, trial, given[name], isolation=isolation) for name in names}
    isolation = isolation or Isolation()
    options = {"isolation": isolation, "smdebug_alias": arguments.smdebug}
    return {name: create_custom_rule(arguments.source, name, trial, given[name], **options) for name in names}


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


def _parameters(pairs: list[tuple[str, str]], names: list[str]) -> dict[str, dict[str, str]]:
    """Return the parameters of each rule."""
    given: dict[str, dict[str, str]] = {name: {} for name in names}
    for key, value in pairs:
        rule, dot, name = key.partition(".")
        for each in [rule] if dot and rule in given else names:
            given[each][name if dot and rule in given else key] = value
    return given


def _announce(explanations: dict[str, Explanation]) -> None:
    for name, explanation in explanations.items():
        for need in explanation.needs:
            if need.tensors:
                example = ", ".join(need.tensors[:3]) + (", …" if len(need.tensors) > 3 else "")
                _output.say(f"{name}: looks at {len(need.tensors)} tensors as {need.purpose} ({example})")
        for problem in explanation.problems:
            _output.say(f"{name}: gives no verdict as things stand: {problem}")


def _lacks_tensors(explanation: Explanation) -> bool:
    """Tell whether a rule gives no verdict for lack of certain tensors; where any would do, the trial is empty."""
    from sagemaker_debug_ext.rules.selection import ALL_TENSORS

    lacking = [need for need in explanation.needs if need.problem and not need.tensors]
    return bool(explanation.problems and lacking) and all(need.selection != str(ALL_TENSORS) for need in lacking)


def _has_news(status: RuleStatus) -> bool:
    return bool(status.num_steps or status.details)


def _silent_line(names: Sequence[str]) -> str:
    rules = "1 rule did" if len(names) == 1 else f"{len(names)} rules did"
    return f"{rules} not find the tensors to judge: {', '.join(names)} (name one to learn what it looks for)"


def _write_causes(causes: Sequence[LikelyCause]) -> None:
    _output.write("Likely causes, the likeliest first:")
    for cause in causes:
        _output.write(f"  {cause.name}: {cause.meaning} ({', '.join(cause.rules)})")


def _write_json(
    evaluation: Evaluation,
    issues: list[Issue],
    explanations: dict[str, Explanation],
    causes: Sequence[LikelyCause] | None,
) -> None:
    results = [
        {
            **status.to_json_dict(),
            "explanation": explanations[status.name].to_json_dict(),
            "issues": [issue.to_json_dict() for issue in issues if issue.rule == status.name],
        }
        for status in evaluation.statuses
    ]
    if causes is not None:
        _output.write_json({"rules": results, "likely_causes": [cause.to_json_dict() for cause in causes]})
    else:
        _output.write_json(results[0] if len(results) == 1 else results)


def _line(issue: Issue, *, several: bool) -> str:
    mode = f" ({issue.mode.name} {issue.mode_step})" if issue.mode else ""
    return f"step {issue.step}{mode}: {issue.rule + ': ' if several else ''}{issue.message}"
