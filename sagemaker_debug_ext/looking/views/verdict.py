"""The first screen: the findings with place, onset and advice, the loss, and the layers over the steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from sagemaker_debug_ext.looking.numbers import as_step
from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened
from sagemaker_debug_ext.looking.story import Finding, Part, Sentence, TrialFacts
from sagemaker_debug_ext.looking.telling import is_of_workers, related_findings
from sagemaker_debug_ext.looking.views.compare import parting_lines
from sagemaker_debug_ext.looking.views.parts import (
    FIRST_ROWS,
    Content,
    circled,
    coloring_for,
    evaluated_curve,
    grid_of,
    grid_picture,
    loss_chart,
    marks_of,
    rules_of,
    sentence,
    window,
)
from sagemaker_debug_ext.looking.views.trees import importance_course
from sagemaker_debug_ext.looking.views.workers import ranks_picture
from sagemaker_debug_ext.vocabulary import ModeKeys

_MAX_OTHERS: Final = 4
_LOW: Final = 170
"""Height in pixels of each of two charts above each other."""

_STATES: Final = {"ended": "ended", "running": "running", "silent": "silent for long: it may have died"}


def verdict_view(content: Content) -> Element:
    """Return the first screen."""
    worst = content.worst
    order = [worst, *(n for n in range(len(content.materials)) if n != worst)]
    findings = content.story.findings_of(worst)
    first = findings[0] if findings else None
    return element(
        "header",
        [_facts_line(content, number) for number in order],
        _headline(content, first),
        [_other_verdict(content, number) for number in order[1:]],
        parting_lines(content),
        _pictures(content, worst, first),
        _also(findings),
        _summary(content),
        class_="verdict",
        id="verdict",
    )


def _facts_line(content: Content, number: int) -> Element:
    facts = content.story.trials[number]
    by_mode = ", ".join(f"{mode} {as_step(count)}" for mode, count in facts.steps.items())
    modes = "" if list(facts.steps) == [ModeKeys.GLOBAL.name] else f" ({by_mode})"
    total = sum(facts.steps.values())
    workers = f"{facts.num_workers} worker{'s' * (facts.num_workers != 1)}"
    return element(
        "p",
        element("strong", content.title_of(number) or shortened(facts.name)),
        element(
            "span",
            f"{_STATES[facts.state]} · {as_step(total)} saved steps{modes} · {workers} · "
            f"{as_step(facts.num_tensors)} tensors",
        ),
        class_="facts",
    )


def _headline(content: Content, first: Finding | None) -> Child:
    evaluated = content.story.coverage.evaluated
    mark = "✖" if content.story.has_issues else "○" if evaluated else "–"
    if first is None:
        return element("h1", f"{mark} ", str(content.story.headline), class_="good" if evaluated else None)
    cause, *rest = first.sentence.parts
    where = _capitalised(rest)
    return [
        element("h1", f"{mark} ", element("span", cause.text, class_="is-cause"), _observed(first), class_="wrong"),
        sentence(Sentence.of(*where, "."), class_="where"),
        element("p", first.message),
        element("p", element("strong", "Try: "), first.advice, class_="advice") if first.advice else None,
    ]


def _observed(finding: Finding) -> Child:
    """Return what the first rule of a finding observes, in words; None if it is not a rule of the catalog."""
    first = next((spec for spec in rules_of(finding) if spec.name == finding.rules[0]), None)
    return None if first is None else element("small", " · ", first.doc.partition("\n")[0].rstrip("."))


def _capitalised(parts: Sequence[Part]) -> list[Part]:
    """Return the rest of a sentence as a sentence of its own."""
    first, *others = parts
    text = first.text.lstrip(" :,")
    return [Part(text[:1].upper() + text[1:], first.kind, first.name), *others]


def _other_verdict(content: Content, number: int) -> Element:
    has_findings = bool(content.story.findings_of(number))
    return element(
        "p",
        element("strong", content.title_of(number)),
        " ✖ " if has_findings else " ○ ",
        str(content.story.trials[number].verdict),
        class_="other",
    )


def _pictures(content: Content, number: int, first: Finding | None) -> Element:
    material = content.materials[number]
    marks = marks_of(content.story, [first]) if first else []
    ranks = material.ranks if first is not None and is_of_workers(first) else None
    grid, rows = grid_of(material, first)
    trials = list(range(len(content.materials)))
    picture = None
    if ranks is not None:
        picture = ranks_picture(ranks, content.detail, marks)
    elif grid is not None:
        shown = window(grid, rows, FIRST_ROWS) if rows else grid
        few = attrs.evolve(content.detail, rows=FIRST_ROWS)
        height = max(13 * min(len(shown.tensors), FIRST_ROWS), 40)
        coloring = coloring_for(grid, first)
        picture = grid_picture(shown, coloring, few, material.labels, marks, rows[:1], height=height)
    empty = element("p", "No loss was saved: save collection losses to see it here.", class_="quiet")
    none = element(
        "p", "No gradient, weight or layer output was saved: save one of them to see layers.", class_="quiet"
    )
    steps = _steps_of(content)
    curve = evaluated_curve(content, number, first, _LOW, steps) if first is not None else None
    without_table = attrs.evolve(content, detail=attrs.evolve(content.detail, has_tables=False))
    if curve is None:
        loss = loss_chart(without_table, trials, marks)
    else:
        loss = loss_chart(without_table, trials, marks, _LOW, steps)
    if picture is None and content.is_whole:  # it is read anew each time, which a live page cannot
        picture = importance_course(material, "gain", attrs.evolve(content.detail, has_tables=False))
    return element("div", element("div", loss or empty, curve), picture or none, class_="pair")


def _steps_of(content: Content) -> tuple[int, int] | None:
    """Return the first and the last step of all trials, for charts above each other; None if nothing was saved."""
    steps = [step for facts in content.story.trials for step in (facts.first_step, facts.last_step) if step is not None]
    return (min(steps), max(steps)) if steps else None


def _also(findings: tuple[Finding, ...]) -> list[Child]:
    """Return lines of the further findings: other possible causes, what came later, and what may follow."""
    lines: list[Child] = []
    for title, named in related_findings(findings, _MAX_OTHERS):
        links = [
            [" · " if place else " ", element("a", f"{circled(number)} {name}", href=f"#finding-{number}")]
            for place, (number, name) in enumerate(named)
        ]
        lines.append(element("p", element("strong", f"{title}:"), links))
    rest = len(findings) - 1 - _MAX_OTHERS
    return [*lines, element("p", f"{rest} further findings below.") if rest > 0 else None]


def _summary(content: Content) -> Child:
    """Return the problems of the data and of rules; None if there are none."""
    failed = [rule.name for rule in content.story.rules if rule.state == "error"]
    parts = [text for facts in content.story.trials for text in _troubles(facts)]
    parts += [f"failed: {', '.join(failed[:5])}"] if failed else []
    return element("p", " · ".join(parts), class_="summary") if parts else None


def _troubles(facts: TrialFacts) -> list[str]:
    found = [f"{shortened(worker)} silent since step {as_step(step)}" for worker, step in facts.silent_workers.items()]
    if len(facts.workers) < facts.num_workers:
        found.append(f"{facts.num_workers - len(facts.workers)} of {facts.num_workers} workers missing")
    if facts.problems:
        found.append(f"{len(facts.problems)} damaged file{'s' * (len(facts.problems) != 1)}")
    return found
