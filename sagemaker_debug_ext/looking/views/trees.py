"""Boosted trees: how well the model does by round, which features matter, the trees, and the hyperparameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.looking.material import Material
from sagemaker_debug_ext.looking.numbers import as_number, as_step
from sagemaker_debug_ext.looking.page.bars import bar_chart
from sagemaker_debug_ext.looking.page.charts import Line, line_chart, table
from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened
from sagemaker_debug_ext.looking.thinning import thin_curve
from sagemaker_debug_ext.looking.views.parts import Content, Detail
from sagemaker_debug_ext.rules.inference.xgboost_report import xgboost_report

_MARKS: Final = ("trees/", "feature_importance/")
"""Beginnings of names that only a job of boosted trees has."""

_MAX_FEATURES: Final = 8
_MAX_ROWS: Final = 20
_MAX_CLASSES: Final = 8
_MAX_NODES: Final = 255
_LEAF: Final = "Leaf"
_COLUMNS: Final = ("Tree", "ID", "Feature", "Split", "Yes", "No", "Gain", "Cover")


def trees_view(content: Content) -> Child:
    """Return what a job of boosted trees saved; None if no trial is of one."""
    inner: list[Child] = []
    for number, material in enumerate(content.materials):
        names = material.trial.tensor_names()
        if any(name.startswith(_MARKS) for name in names):
            inner.append(element("h3", content.title_of(number)) if content.title_of(number) else None)
            inner.append(_of_trial(content, material))
    return element("section", element("h2", "Trees"), inner, id="trees") if inner else None


def _of_trial(content: Content, material: Material) -> Child:
    report = xgboost_report(material.trial)
    detail = content.detail
    charts: list[Child] = [
        _lines(f"{name} by round", {key: courses[key] for key in ("training", "validation")}, detail)
        for name, courses in report["metrics"].items()
    ]
    if "task" in report:
        distribution = report["label_distribution"]
        labels = distribution.get("classes") or distribution["edges"][:-1]
        charts.append(bar_chart("distribution of the labels", labels, distribution["counts"], detail.tables))
    if "classification" in report:
        charts += _classification(report["classification"], detail)
    if "regression" in report:
        charts += _regression(report["regression"], detail)
    charts += [importance_course(material, kind, detail) for kind in report["feature_importance"]]
    return [
        element("p", f"{as_step(report['num_steps'])} saved rounds", _task(report), "."),
        element("div", charts, class_="pair"),
        element(
            "div", [_importances(kind, found) for kind, found in report["feature_importance"].items()], class_="pair"
        ),
        _trees(material),
        _hyperparameters(report["hyperparameters"]),
    ]


def _task(report: Mapping[str, Any]) -> Child:
    return ["; the model does ", element("strong", report["task"])] if "task" in report else None


def _lines(
    title: str, courses: Mapping[str, Sequence[Sequence[float]]], detail: Detail, along: str = "round"
) -> Element | None:
    """Return a line for each course of pairs of round and number."""
    lines = [
        Line(
            name,
            thin_curve([int(step) for step, _ in course], np.array([n for _, n in course], float), detail.points),
            number,
        )
        for number, (name, course) in enumerate(courses.items())
        if course
    ]
    return line_chart(title, lines, along=along, folding=detail.tables) if lines else None


def _classification(found: Mapping[str, Any], detail: Detail) -> list[Child]:
    matrix, last = found["confusion_matrix"], found["course"][-1]
    kinds = ("micro", "macro", "weighted")
    scores = [(name, *(f"{last[name][kind]:.4f}" for kind in kinds)) for name in ("precision", "recall", "f1")]
    by_class = {
        f"class {number}": [
            [entry["step"], entry["accuracy_by_class"][number]]
            for entry in found["course"]
            if number < len(entry["accuracy_by_class"])
        ]
        for number in range(min(len(matrix), _MAX_CLASSES))
    }
    head = ("label \\ predicted", *map(str, range(len(matrix))))
    rows: list[tuple[Child, ...]] = [
        (element("strong", str(number)), *map(str, row)) for number, row in enumerate(matrix)
    ]
    charts: list[Child] = [
        element("figure", element("figcaption", "confusion at the last round"), table(head, rows, class_="confusion")),
        element("figure", element("figcaption", "scores at the last round"), table(("score", *kinds), scores)),
        _lines("accuracy of each class by round", by_class, detail),
    ]
    roc = found.get("roc")
    if roc and roc["area"] is not None:
        pairs = zip(roc["false_positive_rate"], roc["true_positive_rate"], strict=True)
        course = [[100 * false, 100 * true] for false, true in pairs]
        title = f"ROC curve, area {roc['area']:.4f}: % of positives found, over % of negatives taken for positives"
        charts.append(_lines(title, {"ROC": course}, detail, "%"))
    return charts


def _regression(found: Mapping[str, Any], detail: Detail) -> list[Child]:
    last = found["course"][-1]["decile_errors"]
    tenths = {
        f"{name} tenth": [[entry["step"], entry["decile_errors"][number]] for entry in found["course"]]
        for name, number in (("smallest", 0), ("middle", len(last) // 2), ("largest", len(last) - 1))
    }
    rows = [(str(number), f"{error:.5g}") for number, error in enumerate(last, 1)]
    return [
        bar_chart(
            "residuals at the last round",
            found["residuals"]["edges"][:-1],
            found["residuals"]["counts"],
            detail.tables,
        ),
        _lines("absolute error for tenths of the labels by round", tenths, detail),
        element(
            "figure",
            element("figcaption", "absolute error for each tenth of the labels"),
            table(("tenth", "error at the last round"), rows),
        ),
    ]


def importance_course(material: Material, kind: str, detail: Detail) -> Element | None:
    """Return the importance of the most important features over the rounds; None if it was not saved."""
    prefix = f"feature_importance/{kind}/"
    courses = {}
    for name in material.trial.tensor_names():
        if name.startswith(prefix):
            values = material.trial.tensor(name).values()
            course = [[step, float(value.item())] for step, value in values.items() if value.size == 1]
            if course:
                courses[name.removeprefix(prefix)] = course
    first = sorted(courses, key=lambda name: (-courses[name][-1][1], name))[:_MAX_FEATURES]
    return _lines(f"importance of the first features by {kind}", {name: courses[name] for name in first}, detail)


def _importances(kind: str, found: Mapping[str, float]) -> Element | None:
    if not found:
        return None
    rows = [(shortened(feature), as_number(value)) for feature, value in list(found.items())[:_MAX_ROWS]]
    rest = len(found) - len(rows)
    note = f"; the {rest} least are left out" if rest > 0 else ""
    return element(
        "figure", element("figcaption", f"importance by {kind} at the last round{note}"), table(("feature", kind), rows)
    )


def _hyperparameters(found: Mapping[str, Any]) -> Element | None:
    if not found:
        return None
    rows = [(shortened(name), shortened(str(value))) for name, value in sorted(found.items())]
    return element("details", element("summary", "hyperparameters"), table(("name", "value"), rows))


def _trees(material: Material) -> Child:
    """Return the first tree of some rounds as lists that fold: the first, the middle and the last one."""
    trial = material.trial
    if not trial.has_tensor("trees/ID"):
        return None
    steps = trial.tensor("trees/ID").steps()
    shown = dict.fromkeys(steps[place] for place in (0, len(steps) // 2, -1) if steps)
    return [_tree(material, step, is_open=step == steps[-1]) for step in shown]


def _tree(material: Material, step: int, *, is_open: bool) -> Child:
    trial = material.trial
    try:
        columns = {name: trial.tensor(f"trees/{name}").value(step).reshape(-1).tolist() for name in _COLUMNS}
    except (OSError, DebugExtError):  # not saved, or noted as a problem of the trial
        return None
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    of_first = {_text(row["ID"]): row for row in rows if row["Tree"] == rows[0]["Tree"]} if rows else {}
    if not of_first:
        return None
    title = f"round {as_step(step)}: tree {int(rows[0]['Tree'])}, {len(of_first)} nodes"
    left = [_MAX_NODES]
    content = _node(of_first, next(iter(of_first)), "", left)
    rest = (
        element("p", f"The first {_MAX_NODES} nodes are shown.", class_="quiet") if len(of_first) > _MAX_NODES else None
    )
    return element("details", element("summary", title), element("ul", content, class_="tree"), rest, open=is_open)


def _node(rows: Mapping[str, Mapping[str, Any]], name: str, way: str, left: list[int]) -> Child:
    """Return a node and all that follow it; `left` holds how many may still be shown."""
    row = rows.get(name)
    if row is None or left[0] <= 0:
        return None
    left[0] -= 1
    feature, gain = _text(row["Feature"]), as_number(float(row["Gain"]))
    if feature == _LEAF:
        return element(
            "li", f"{way}leaf {gain}", element("span", f" cover {as_number(float(row['Cover']))}", class_="quiet")
        )
    split = float(row["Split"])
    test = f"{shortened(feature)} < {as_number(split)}" if math.isfinite(split) else shortened(feature)
    inner = [_node(rows, _text(row[way]), f"{way.lower()}: ", left) for way in ("Yes", "No")]
    about = element("span", f" gain {gain}, cover {as_number(float(row['Cover']))}", class_="quiet")
    return element("li", f"{way}{test}?", about, element("ul", inner))


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
