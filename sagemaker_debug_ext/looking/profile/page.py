"""Write the profile of a job as one page in one file: `write_profile_page`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from sagemaker_debug_ext.looking.page.charts import table
from sagemaker_debug_ext.looking.page.document import document
from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened
from sagemaker_debug_ext.looking.profile.history import IDLE_PERCENT, History
from sagemaker_debug_ext.looking.profile.pictures import (
    as_time,
    finding_spans,
    lines,
    time_bars,
    time_scale,
    utilization_map,
)
from sagemaker_debug_ext.looking.report import write_page
from sagemaker_debug_ext.profiler.open_readers import no_data
from sagemaker_debug_ext.profiler.rules import ProfileEvaluation, ProfilerRule, Verdict, summarize
from sagemaker_debug_ext.profiler.rules.base import Finding
from sagemaker_debug_ext.profiler.rules.slices import CPU, GPU, natural_key

_MAX_MACHINES: Final = 16
_MAX_FINDINGS: Final = 10
_MAX_LINES: Final = 8
_USAGE: Final = "OverallSystemUsage"


def write_profile_page(
    path: str | os.PathLike[str], target: str | os.PathLike[str], rules: Sequence[ProfilerRule]
) -> ProfileEvaluation:
    """Write the profile of a job as one page that needs no network.

    The page has what the rules found, the utilization of each core and GPU over time, and where the time of each worker
    went. Its size does not grow with the length of the job.

    Args:
        path: The folder ``profiler-output``, or its address on S3.
        target: The file to write, which appears when it is complete, or ``s3://bucket/key``.
        rules: The rules to evaluate.

    Returns:
        The evaluation, whose rules hold what they found.

    Raises:
        SMDebugValueError: There are no profiler data.
        OSError: The file cannot be written.

    Example:
        >>> write_profile_page("profiler-output", "profile.html", create_report_rules())
    """
    history = History()
    evaluation = ProfileEvaluation(path, rules, also=[history.add])
    evaluation.advance()
    if not history.sensors and not history.workers:
        raise no_data(path)
    write_page(target, render(os.fspath(path), history, evaluation.rules))
    return evaluation


def render(name: str, history: History, rules: Sequence[ProfilerRule]) -> str:
    """Return the page.

    Args:
        name: Name of the job, or the place of its data.
        history: The history of the job.
        rules: The rules, which have seen the whole job.
    """
    found = [rule for rule in rules if rule.triggered]
    found.sort(key=lambda rule: -sum(finding.end - finding.start for finding in rule.findings))
    views = [
        ("findings", "Findings", _findings(found)),
        ("time", "Over time", _over_time(history, found)),
        ("steps", "Where the time goes", _time_of_steps(history)),
        ("resources", "Resources", _resources(rules)),
        ("rules", "Rules", _rules(rules)),
    ]
    body = [
        element(
            "nav",
            [element("a", title, href=f"#{anchor}") for anchor, title, view in views if view is not None],
            element("button", "theme", type="button", id="theme", hidden=True),
            aria_label="views",
        ),
        element(
            "main",
            _verdict(name, history, rules, found),
            [
                element("section", element("h2", title), view, id=anchor)
                for anchor, title, view in views
                if view is not None
            ],
            element("footer", "Times are UTC. This page asks nothing of any network."),
        ),
    ]
    return document(f"{shortened(name)}: profile", body, {"profile": {"rules": summarize(rules)}})


def _verdict(name: str, history: History, rules: Sequence[ProfilerRule], found: Sequence[ProfilerRule]) -> Element:
    open_rules = sum(rule.verdict is Verdict.NOT_EVALUATED for rule in rules)
    if found:
        headline = _first(found[0]).message
    elif open_rules == len(rules):
        headline = "No rule could be evaluated."
    else:
        headline = "No rule found an issue."
    minutes = (history.end - history.start) / 60
    facts = [
        f"{as_time(history.start, has_date=True)} to {as_time(history.end)} UTC, {minutes:.1f} minutes",
        f"machines: {len(history.machines)}",
        f"workers: {len(history.workers)}",
        f"{len(found)} of {len(rules)} rules found an issue, {open_rules} could not decide",
    ]
    return element(
        "section",
        element("div", element("span", name, class_="path"), [element("span", fact) for fact in facts], class_="facts"),
        element("h1", headline, class_="wrong" if found else "good" if open_rules < len(rules) else None),
        element("p", found[0].advice, class_="advice") if found else None,
        _idle(history),
        class_="verdict",
    )


def _first(rule: ProfilerRule) -> Finding:
    return max(rule.findings, key=lambda finding: finding.end - finding.start)


def _idle(history: History) -> Child:
    """Return how much GPU time was idle, which is what a job costs."""
    share = history.idle_share
    if share is None:
        return None
    num_gpus = sum(sensor.dimension == GPU for sensor in history.sensors)
    hours = num_gpus * (history.end - history.start) / 3600
    return element(
        "p",
        f"{share * hours:.2g} of {hours:.2g} GPU hours idle: {num_gpus} GPUs were below {IDLE_PERCENT:g} % in "
        f"{100 * share:.0f} % of the samples.",
        class_="where",
    )


def _findings(found: Sequence[ProfilerRule]) -> Child:
    if not found:
        return None
    return [
        element(
            "div",
            element("h3", rule.name),
            element("p", rule.advice, class_="advice") if rule.advice else None,
            table(
                ("from", "to", "where", "what"),
                [
                    (
                        as_time(finding.start),
                        as_time(finding.end),
                        " ".join(map(shortened, filter(None, (finding.node, finding.device)))),
                        finding.message,
                    )
                    for finding in rule.findings[:_MAX_FINDINGS]
                ],
            ),
            element("p", f"{len(rule.findings) - _MAX_FINDINGS} more are not listed.", class_="quiet")
            if len(rule.findings) > _MAX_FINDINGS
            else None,
            class_="finding",
        )
        for rule in found
    ]


def _over_time(history: History, found: Sequence[ProfilerRule]) -> Child:
    x = time_scale(history)
    count = history.num_bins
    machines = history.machines
    memory = [
        (sensor.node, bins.means(count))
        for sensor, bins in history.sensors.items()
        if sensor.dimension not in (CPU, GPU)
    ]
    steps = sorted(history.steps.items(), key=lambda item: natural_key(item[0]))
    hidden = len(machines) - _MAX_MACHINES
    return [
        finding_spans([finding for rule in found for finding in rule.findings], x) if found else None,
        [utilization_map(history, machine, x) for machine in machines[:_MAX_MACHINES] if history.rows_of(machine)],
        element("p", f"{hidden} more machines are not drawn.", class_="quiet") if hidden > 0 else None,
        lines(
            "time of a training step",
            "s",
            [(name, bins.means(count)) for name, bins in steps[:_MAX_LINES]],
            history,
            x,
        ),
        lines("memory in use", "%", memory[:_MAX_LINES], history, x),
        element("p", f"Each column of a picture is the mean over {history.seconds:g} s.", class_="quiet"),
    ]


def _time_of_steps(history: History) -> Child:
    workers = sorted(history.workers.items(), key=lambda item: natural_key(item[0]))
    return time_bars(workers) if workers else element("p", "The job recorded no steps.")


def _resources(rules: Sequence[ProfilerRule]) -> Child:
    usage = next((rule.details() for rule in rules if rule.name == _USAGE), None)
    if not usage:
        return None
    rows = [
        (shortened(node), metric, *(f"{values[name]:g}" for name in ("min", "p50", "p95", "p99", "max")))
        for metric, nodes in usage.items()
        for node, values in nodes.items()
    ]
    note = "Percent; network: bytes per second."
    return [
        table(("machine", "resource", "lowest", "p50", "p95", "p99", "highest"), rows),
        element("p", note, class_="quiet"),
    ]


def _rules(rules: Sequence[ProfilerRule]) -> Child:
    return table(
        ("rule", "result", "points", "parameters"),
        [
            (
                rule.name,
                _result(rule),
                str(rule.datapoints),
                rule.report()["RuleParameters"].replace("\n", ", "),
            )
            for rule in rules
        ],
    )


def _result(rule: ProfilerRule) -> str:
    if rule.verdict is Verdict.NOT_EVALUATED:
        return f"not evaluated: {rule.not_evaluated()}"
    return f"found, {rule.triggered} ×" if rule.triggered else "no issue"
