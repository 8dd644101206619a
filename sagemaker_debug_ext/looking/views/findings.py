"""The evidence of each finding: charts, a table of issues, advice, and the rules that agree."""

from __future__ import annotations

from typing import Final

import attrs

from sagemaker_debug_ext.looking.material import Material
from sagemaker_debug_ext.looking.numbers import as_number, as_step
from sagemaker_debug_ext.looking.page.charts import Line, line_chart, table
from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened
from sagemaker_debug_ext.looking.story import Finding, Sentence
from sagemaker_debug_ext.looking.telling import finding_sentence, in_numbers
from sagemaker_debug_ext.looking.thinning import thin_curve
from sagemaker_debug_ext.looking.views.data import confusion_table
from sagemaker_debug_ext.looking.views.grid_tables import grid_table
from sagemaker_debug_ext.looking.views.parts import (
    FIRST_ROWS,
    Content,
    circled,
    curve_label,
    grid_picture,
    loss_chart,
    marks_of,
    rules_of,
    scale_for,
    sentence,
    window,
)
from sagemaker_debug_ext.looking.views.workers import ranks_picture

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
        _charts(content, number, finding, is_headline=is_headline) if place <= _MAX_FINDINGS else None,
        _issues(finding),
        _about(finding),
    ]
    return element("section", element("h2", head), inner, id=anchor, class_="finding")


def _in_words(finding: Finding) -> Child:
    return [
        sentence(Sentence.of(*finding_sentence(finding).parts, ".")),
        element("p", in_numbers(finding)),
        element("p", element("strong", "Try: "), finding.advice, class_="advice") if finding.advice else None,
    ]


def _meaning(finding: Finding) -> Element:
    meaning = f"{finding.meaning[:1].upper()}{finding.meaning[1:]}"
    return element("p", f"{meaning}. Rules that agree: {', '.join(finding.rules)}.")


def _charts(content: Content, number: int, finding: Finding, *, is_headline: bool) -> Element:
    """Return the charts of a finding; of the one in the headline, without the picture that is the same there."""
    material = content.materials[number]
    marks = marks_of([finding])
    charts: list[Child] = []
    for evidence in finding.evidence:
        grid = material.measures.grids.get(evidence.subject)
        if grid is not None:
            scale = scale_for(grid, finding)
            detail = attrs.evolve(content.detail, rows=_ROWS)
            named = evidence.tensors if len(evidence.tensors) <= _MAX_POINTED else evidence.tensors[:1]
            shown = window(grid, evidence.tensors, _ROWS)
            is_first = evidence is finding.evidence[0]
            is_above = is_headline and is_first and len(grid.tensors) <= FIRST_ROWS
            picture = (
                element("p", f"{grid.measure.title} by layer: drawn on the first screen.", class_="quiet")
                if is_above
                else grid_picture(shown, scale, detail, marks, named)
            )
            charts.append(element("div", picture, grid_table(shown, scale, detail.tables) if detail.tables else None))
            if evidence.tensors and is_first:
                charts.append(_series(content, finding, material, evidence.subject, evidence.tensors[0]))
        elif evidence.subject == "loss":
            charts.append(loss_chart(content, [number], marks))
        elif evidence.subject == "classes":
            charts.append(confusion_table(material))
        elif evidence.subject == "ranks" and material.ranks is not None:
            charts.append(None if is_headline else ranks_picture(material.ranks, content.detail, marks))
        elif evidence.subject == "curves":
            charts += [_named_curve(content, material, name, finding) for name in evidence.tensors[:2]]
    return element("div", charts, class_="pair")


def _series(content: Content, finding: Finding, material: Material, measure: str, tensor: str) -> Element:
    grid = material.measures.grids[measure]
    points = content.detail.points
    lines = [
        Line(tensor, thin_curve(*grid.series(tensor), points), 0),
        Line("median layer", thin_curve(*grid.median(), points), 7, 1, is_faint=True),
    ]
    first = finding.issues[0]
    limit = first.threshold if finding.evidence[0].subject == "update_ratio" else None
    return line_chart(
        f"{grid.measure.title} of {shortened(tensor)}",
        lines,
        marks_of([finding]),
        limit=limit,
        folding=content.detail.tables,
    )


def _named_curve(content: Content, material: Material, name: str, finding: Finding) -> Child:
    lines = [
        Line(curve_label(curve), thin_curve(curve.steps, curve.values, content.detail.points), 0)
        for curve in material.curves
        if curve.name == name
    ]
    return line_chart(name, lines, marks_of([finding]), folding=content.detail.tables) if lines else None


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
