"""``sagemaker-debug rules``: which rules there are, and one of them over a trial."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from sagemaker_debug_ext.cli import _arguments, _output

if TYPE_CHECKING:
    from sagemaker_debug_ext.catalog import ParameterSpec, RuleSpec
    from sagemaker_debug_ext.rules import Issue

_EXIT_ISSUES = 1


def add_parser(commands: Any) -> None:
    """Add the command with its two parts."""
    parser = commands.add_parser("rules", help="list the rules, or run one over a trial")
    parts = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listing = _arguments.add_command(parts, "list", "List the rules and their parameters.", run_list)
    listing.add_argument("--kind", choices=("debugger", "profiler"), help="only rules on tensors, or on metrics")
    _arguments.add_json(listing)
    running = _arguments.add_command(parts, "run", "Run a rule over a trial; exits with 1 if it finds an issue.", run)
    _arguments.add_trial(running)
    running.add_argument("rule", metavar="RULE", help="name of the rule, as rules list gives it")
    running.add_argument(
        "-p", "--parameter", action="append", default=[], type=_pair, metavar="NAME=VALUE", help="repeatable"
    )
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
        rows = [(spec.name, spec.kind, _where(spec), ", ".join(map(_spell, spec.parameters))) for spec in specs]
        _output.write(_output.format_table(("RULE", "KIND", "RUNS", "PARAMETERS"), rows))
    return 0


def _where(spec: RuleSpec) -> str:
    return "here" if spec.rule_class else "SageMaker"


def _spell(parameter: ParameterSpec) -> str:
    return parameter.name if parameter.default is None else f"{parameter.name}={parameter.default}"


def _describe(spec: RuleSpec) -> dict[str, Any]:
    parameters = [
        {"name": item.name, "type": item.type, "default": item.default, "required": item.required, "doc": item.doc}
        for item in spec.parameters
    ]
    return {"name": spec.name, "kind": spec.kind, "runs": _where(spec), "parameters": parameters}


def run(arguments: argparse.Namespace) -> int:
    """Run a rule over a trial."""
    from sagemaker_debug_ext.rules import create_rule, evaluate
    from sagemaker_debug_ext.trials import create_trial

    trial = create_trial(arguments.trial)
    evaluation = evaluate(
        [create_rule(arguments.rule, trial, dict(arguments.parameter))], trial, follow=arguments.follow
    )
    issues = []
    for issue in evaluation:
        issues.append(issue)
        if not arguments.json:
            _output.write(_line(issue))
    (status,) = evaluation.statuses
    if arguments.json:
        result = {**status.to_json_dict(), "issues": [issue.to_json_dict() for issue in issues]}
        _output.write_json(result)
    else:
        judged = f"{status.num_steps} steps judged, {status.num_skipped} without what the rule needs"
        _output.say(f"{status.name}: {status.status}, {judged} {status.details}".rstrip())
    if status.status == "Error":
        return 2
    return _EXIT_ISSUES if issues else 0


def _line(issue: Issue) -> str:
    mode = f" ({issue.mode.name} {issue.mode_step})" if issue.mode else ""
    return f"step {issue.step}{mode}: {issue.message}"
