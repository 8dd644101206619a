"""The evidence of each finding: charts, a table of issues, advice, and the rules that agree."""

from __future__ import annotations

from typing import Final

import attrs

from sagemaker_debug_ext.looking.numbers import as_number, as_step
from sagemaker_debug_ext.looking.page.charts import table
from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened
from sagemaker_debug_ext.looking.story import Finding, Sentence
from sagemaker_debug_ext.looking.views.data import confusion_table
from sagemaker_debug_ext.looking.views.grid_tables import grid_table
from sagemaker_debug_ext.looking.views.parts import (
    FIRST_ROWS,
    Content,
    circled,
    coloring_for,
    evaluated_curve,
    grid_picture,
    loss_chart,
    marks_of,
    named_curve,
    rules_of,
    sentence,
    window,
)
from sagemaker_debug_ext.looking.views.workers import ranks_picture
from sagemaker_debug_ext.rules.causes import CAUSES

_ROWS: Final = 40
_MAX_FINDINGS: Final = 6
_MAX_POINTED: Final = 8
_MAX_CHARACTERS: Final = 2_000


def findings_view(content: Content) -> Child:
    """Return a section for each finding."""
    sections: list[Child] = []
    for number in range(len(content.materials)):
        for place, finding in enumerate(content.story.findings_of(number), 1):
            sections.append(_finding(content, number, place, finding))
    return sections


def _finding(content: Content, number: int, place: int, finding: Finding) -> Element:
    anchor = f"finding-{place}" if number == 0 else f"finding-{number}-{place}"
    title = content.title_of(number)
    head = f"{title + ': ' if title else ''}{circled(place)} {finding.cause[:1].upper()}{finding.cause[1:]}"
    is_headline = content.is_whole and number == content.worst and place == 1
    inner: list[Child] = [
        None if is_headline else _in_words(finding),
        _meaning(finding),
        _look_alikes(finding),
        _charts(content, number, finding, is_headline=is_headline) if place <= _MAX_FINDINGS else None,
        _issues(finding),
        _about(finding),
    ]
    return element("section", element("h2", head), inner, id=anchor, class_="finding")


def _in_words(finding: Finding) -> Child:
    return [
        sentence(Sentence.of(*finding.sentence.parts, ".")),
        element("p", finding.message),
        element("p", element("strong", "Try: "), finding.advice, class_="advice") if finding.advice else None,
    ]


def _meaning(finding: Finding) -> Element:
    meaning = f"{finding.meaning[:1].upper()}{finding.meaning[1:]}"
    return element("p", f"{meaning}. Rules that agree: {', '.join(finding.rules)}.")


def _look_alikes(finding: Finding) -> Child:
    """Return what else would look the same, with the meaning of each; None if there is nothing."""
    if not finding.look_alikes:
        return None
    named = "; ".join(f"{name} ({CAUSES[name]})" for name in finding.look_alikes)
    return element("p", f"Would look the same, though no rule saw a sign of it: {named}.")


def _charts(content: Content, number: int, finding: Finding, *, is_headline: bool) -> Element:
    """Return the charts of a finding; of the one in the headline, without those that are the same there."""
    material = content.materials[number]
    marks = marks_of(content.story, [finding])
    charts: list[Child] = []
    for evidence in finding.evidence:
        grid = material.measures.grids.get(evidence.subject)
        if grid is not None:
            coloring = coloring_for(grid, finding)
            detail = attrs.evolve(content.detail, rows=_ROWS)
            named = evidence.tensors if len(evidence.tensors) <= _MAX_POINTED else evidence.tensors[:1]
            shown = window(grid, evidence.tensors, _ROWS)
            is_first = evidence is finding.evidence[0]
            is_above = is_headline and is_first and len(grid.tensors) <= FIRST_ROWS
            picture = (
                element("p", f"{grid.measure.title} by layer: drawn on the first screen.", class_="quiet")
                if is_above
                else grid_picture(shown, coloring, detail, material.labels, marks, named)
            )
            tables = grid_table(shown, coloring, detail.tables) if detail.tables else None
            charts.append(element("div", picture, tables))
            if is_first and not is_headline:
                charts.append(evaluated_curve(content, number, finding))
        elif evidence.subject == "loss":
            charts.append(loss_chart(content, [number], marks))
        elif evidence.subject == "classes":
            charts.append(confusion_table(material))
        elif evidence.subject == "ranks" and material.ranks is not None:
            charts.append(None if is_headline else ranks_picture(material.ranks, content.detail, marks))
        elif evidence.subject == "curves":
            charts += [named_curve(content, number, name, finding) for name in evidence.tensors[is_headline:2]]
    return element("div", charts, class_="pair")


def _issues(finding: Finding) -> Element:
    rows = [
        (
            as_step(issue.step),
            issue.mode.name if issue.mode else "",
            issue.rule,
            shortened(issue.tensors[0]) if issue.tensors else "",
            "" if issue.value is None else as_number(issue.value),
            "" if issue.threshold is None else as_number(issue.threshold),
            issue.message[:_MAX_CHARACTERS],
        )
        for issue in finding.issues
    ]
    rest = finding.num_issues - len(rows)
    return element(
        "details",
        element("summary", f"{finding.num_issues} issue{'s' * (finding.num_issues != 1)}"),
        table(("step", "mode", "rule", "tensor", "value", "limit", "message"), rows),
        element("p", f"{rest} further issues are not listed.") if rest else None,
        open=len(rows) <= 5,
    )


def _about(finding: Finding) -> Child:
    known = rules_of(finding)
    if not known:
        return None
    return element(
        "details",
        element("summary", "about these rules"),
        element("dl", [[element("dt", spec.name), element("dd", spec.doc)] for spec in known]),
    )
