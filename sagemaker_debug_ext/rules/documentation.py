"""Generate the page on the built-in rules from their docstrings and declared parameters.

Run ``python -m sagemaker_debug_ext.rules.documentation docs/rules.md`` to write it.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sagemaker_debug_ext.catalog import ParameterSpec, RuleSpec, list_rule_specs
from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.factory.loading import load_rule_class
from sagemaker_debug_ext.rules.reading.tensor_roles import NOTHING, SCHEMES, Role
from sagemaker_debug_ext.rules.recommended import RECOMMENDED

BAR: Final = r"\|"
"""A bar that does not end a cell of a table."""

_INTRODUCTION = """# Built-in rules

<!-- Written by: python -m sagemaker_debug_ext.rules.documentation docs/rules.md -->

Each rule is made by name, `create_rule("DeadRelu", trial, {"threshold_layer": 30})`, and run by `invoke_rule(rule)` or,
many at once, by `evaluate(rules, trial)`; or from a shell by `sagemaker-debug rules run TRIAL DeadRelu`. Values of
parameters may be text. `explain(rule)` tells which tensors a rule will look at. `recommended_rules(trial)` of
`sagemaker_debug_ext.rules.recommended` makes those marked with a star, with parameters that suit most jobs.
`likely_causes(issues)` of `sagemaker_debug_ext.rules.causes` tells what may be behind what several rules found; so does
`sagemaker-debug rules run TRIAL --recommended`, after the issues, and with `--json` in the list `likely_causes` beside
the list `rules`.

What may follow an issue, and how to evaluate large trials on many machines, is in
[rules-at-scale.md](rules-at-scale.md).

The rules of SageMaker have its defaults; what it leaves open is decided as described here. The further rules run here,
and not in SageMaker's evaluator.

## What tensors are called

Rules find weights, biases, gradients and losses by collection, and what else they look at by names, which are those
that the hook of the framework gives, unless a parameter says otherwise. The framework is told by the collections of the
trial. In Keras no name tells which activation a layer has, or whether labels are classes: the values do.

"""


def render_rules() -> str:
    """Return the page in Markdown."""
    specs = [spec for spec in list_rule_specs("debugger") if spec.rule_class and _is_ours(spec)]
    groups = (
        ("Rules of SageMaker", [spec for spec in specs if spec.function]),
        ("Further rules", [spec for spec in specs if not spec.function]),
    )
    lines = [_INTRODUCTION + "\n".join(_render_roles()) + "\n"]
    for title, members in groups:
        lines += [f"## {title}", ""]
        for spec in members:
            lines += [*_render(spec), ""]
    return "\n".join(lines).rstrip() + "\n"


def _render_roles() -> Iterator[str]:
    """Yield a table of the names of each role in each framework."""
    yield f"| what | {' | '.join(scheme.framework for scheme in SCHEMES)} |"
    yield f"|---|{'---|' * len(SCHEMES)}"
    for role in Role:
        cells = ("none" if scheme.patterns[role] is NOTHING else f"`{scheme.patterns[role]}`" for scheme in SCHEMES)
        yield f"| {role.value} | {' | '.join(cell.replace('|', BAR) for cell in cells)} |"


def _is_ours(spec: RuleSpec) -> bool:
    return (spec.rule_class or "").startswith(
        ("sagemaker_debug_ext.rules.sagemaker.", "sagemaker_debug_ext.rules.extra.")
    )


def _render(spec: RuleSpec) -> Iterator[str]:
    assert spec.rule_class is not None  # the caller selects specs with a class
    rule_class = load_rule_class(spec.rule_class)
    assert issubclass(rule_class, BuiltinRule)
    text = inspect.cleandoc(rule_class.__doc__ or "")
    sections = re.split(r"^(Parameters|Source|Example):\n", text, flags=re.MULTILINE)
    body = dict(zip(sections[1::2], sections[2::2], strict=True))
    yield f"### {spec.name}{' ★' if spec.name in RECOMMENDED else ''}"
    yield ""
    yield _plain(sections[0])
    yield ""
    if spec.collections:
        yield f"Saved for it by default: {', '.join(f'`{collection.name}`' for collection in spec.collections)}."
        yield ""
    if spec.parameters:
        yield "| parameter | type | default | range | meaning |"
        yield "|---|---|---|---|---|"
        yield from map(_row, spec.parameters)
        yield ""
    if rule_class.advice:
        yield f"When it fires: {rule_class.advice}"
        yield ""
    if "Source" in body:
        yield f"Source: {_plain(body['Source'])}"
        yield ""
    yield "```python"
    yield re.sub(r"^(?:>>>|\.\.\.) ", "", inspect.cleandoc(body["Example"]), flags=re.MULTILINE).strip()
    yield "```"


def _row(parameter: ParameterSpec) -> str:
    default = "" if parameter.default is None else f"`{_spell(parameter.default)}`"
    cells = (f"`{parameter.name}`", parameter.type, default, parameter.range, parameter.doc)
    return "| " + " | ".join(cell.replace("|", BAR) for cell in cells) + " |"


def _spell(value: object) -> str:
    return ",".join(map(_spell, value)) if isinstance(value, tuple) else f"{value}"


def _plain(text: str) -> str:
    return inspect.cleandoc(text).replace("``", "`").strip()


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render_rules(), encoding="utf-8")
