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
from sagemaker_debug_ext.rules.evaluation.outcome import MAX_PATIENCE, PATIENCE
from sagemaker_debug_ext.rules.factory.loading import load_rule_class
from sagemaker_debug_ext.rules.reading.tensor_roles import NOTHING, SCHEMES, Role
from sagemaker_debug_ext.rules.recommended import LEARNT, RECOMMENDED

BAR: Final = r"\|"
"""A bar that does not end a cell of a table."""

_INTRODUCTION: Final = f"""# Built-in rules

<!-- Written by: python -m sagemaker_debug_ext.rules.documentation docs/rules.md -->

Create a rule by name, `create_rule("DeadRelu", trial, {{"threshold_layer": 30}})`. Run one rule with
`invoke_rule(rule)`, several with `evaluate(rules, trial)`, or any from a shell with
`sagemaker-debug rules run TRIAL DeadRelu`. Parameter values may be text. `explain(rule)` lists the tensors that a rule
reads.

`recommended_rules(trial)` of `sagemaker_debug_ext.rules.recommended` creates the rules marked with a star, with
parameters that suit most jobs. `likely_causes(issues)` of `sagemaker_debug_ext.rules.causes` ranks the likely causes of
the issues of several rules. `sagemaker-debug rules run TRIAL --recommended` does both; with `--json`, the causes are in
the list `likely_causes` beside the list `rules`. Rules may see what happens, but not why, as when a model learns
nothing. Then the list goes on with causes that would look the same, up to three in all; `looks_like` of these names the
first. A cause whose `may_follow` is true may be a consequence of another; these come last.

A large gradient, unscaled inputs or small initial weights may keep a model from learning. Where it learns nevertheless,
they are no fault. Rules that look for such reasons have the parameter `unless_learnt`, a gain in percent. The gain of a
model is how far its errors are below those of the best constant prediction. `evaluate` holds the issues of these rules
back, and drops them if the job ends with that gain, in evaluation as in training. While a job runs, they count after
{PATIENCE} training steps if no loss falls, and after {MAX_PATIENCE:,} in any case. They count, too, where no
predictions and targets were saved. The recommended rules have it at {LEARNT:g} %,
InputScale at {RECOMMENDED["InputScale"]["unless_learnt"]} %. By default no rule has it, and `invoke_rule` holds nothing
back.

[rules-at-scale.md](rules-at-scale.md) describes actions that follow an issue, and the evaluation of large trials on
many machines.

The rules of SageMaker have SageMaker's defaults; this page also states details that SageMaker leaves open. The further
rules run here, but not in SageMaker's evaluator.

## What tensors are called

Rules find weights, biases, gradients and losses by collection. They find other tensors by the names that the hook of
the framework gives them, unless a parameter selects other names. The collections of the trial reveal the framework.
Keras names reveal neither the activation of a layer nor whether labels are classes; rules infer both from the values.

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
