"""The rules with their results, and the saved collections."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.looking.numbers import as_bytes, as_step
from sagemaker_debug_ext.looking.page.charts import table
from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened
from sagemaker_debug_ext.looking.story import RuleLine, SavedCollection, TrialFacts
from sagemaker_debug_ext.looking.views.parts import Content

_SIGNS: Final = {
    "found": "●",
    "nothing found": "○",
    "nothing to evaluate": "–",
    "lacks tensors": "–",
    "error": "✕",
    "stopped": "◐",
}
_ORDER: Final = tuple(_SIGNS)
_STRIP: Final = 400
_MAX_PROBLEMS: Final = 50
_MAX_CHARACTERS: Final = 600


def rules_view(content: Content) -> Element:
    """Return all rules, those that found something first."""
    inner: list[Child] = []
    for number in range(len(content.materials)):
        lines = [line for line in content.story.rules if line.trial == number]
        inner.append(element("h3", content.title_of(number)) if content.title_of(number) else None)
        rows = [_rule(line) for line in sorted(lines, key=lambda line: _ORDER.index(line.state))]
        if rows:
            inner.append(
                table(
                    ("sign", "rule", "state", "looked at", "steps evaluated", "why, and what to save"),
                    rows,
                    class_="wide",
                )
            )
        else:
            inner.append(element("p", "No rule was run.", class_="quiet"))
    return element("section", element("h2", "Rules"), _counts(content.story.rules), inner, id="rules")


def _counts(rules: Sequence[RuleLine]) -> Element | None:
    """Return, in a sentence, how many rules had the tensors that they need; None without rules."""
    states = Counter(rule.state for rule in rules)
    parts = [f"{states['found'] + states['nothing found']} rules evaluated, {states['found']} found something"]
    parts += [f"{states['lacks tensors']} more would need tensors that were not saved"] * bool(states["lacks tensors"])
    parts += [f"{states['nothing to evaluate']} had nothing to evaluate"] * bool(states["nothing to evaluate"])
    return element("p", " · ".join(parts), class_="summary") if rules else None


def _rule(line: RuleLine) -> tuple[Child, ...]:
    state = line.state
    if line.first_issue_step is not None:
        issues = f"{line.num_issues} issue{'s' * (line.num_issues != 1)}"
        state_text = f"found, {issues} from step {as_step(line.first_issue_step)}"
    else:
        state_text = state
    groups = f" ({', '.join(line.collections)})" if line.collections else ""
    looked = f"{line.num_tensors} tensor{'s' * (line.num_tensors != 1)}{groups}" if line.num_tensors else ""
    evaluated = as_step(line.num_steps) + (f", {as_step(line.num_skipped)} skipped" if line.num_skipped else "")
    save = [{"CollectionName": name} for name in line.save]
    why: list[Child] = [line.details[:_MAX_CHARACTERS]]
    if save:
        why += [" Save ", element("code", json.dumps(save)), "."]
    return (
        element("span", _SIGNS[state], class_=f"sign {'wrong' if state in ('found', 'error') else ''}"),
        shortened(line.name),
        state_text,
        looked,
        evaluated,
        element("span", why),
    )


def saved_view(content: Content) -> Element:
    """Return the collections over the steps, and files that cannot be used."""
    inner: list[Child] = []
    for number, facts in enumerate(content.story.trials):
        inner.append(element("h3", content.title_of(number)) if content.title_of(number) else None)
        inner.append(element("p", shortened(facts.path), class_="path"))
        rows = [_collection(content, number, facts, saved) for saved in facts.collections]
        head = ("collection", "tensors", "size", "steps", "from first to last step of the trial")
        inner.append(table(head, rows, class_="wide"))
        if facts.problems:
            shown = [element("li", problem[:_MAX_CHARACTERS]) for problem in facts.problems[:_MAX_PROBLEMS]]
            rest = len(facts.problems) - len(shown)
            inner.append(element("p", "Files that cannot be used:"))
            inner.append(element("ul", shown, element("li", f"{rest} more") if rest else None))
    notes = [element("li", note) for note in content.story.coverage.notes]
    inner.append(element("ul", notes) if notes else None)
    return element("section", element("h2", "What was saved"), inner, id="saved")


def _collection(content: Content, number: int, facts: TrialFacts, saved: SavedCollection) -> tuple[Child, ...]:
    counts = ", ".join(f"{mode} {as_step(count)}" for mode, count in saved.num_steps.items())
    return (
        shortened(saved.name),
        as_step(saved.num_tensors),
        as_bytes(saved.num_bytes),
        counts,
        _strip(content, number, facts, saved),
    )


def _strip(content: Content, number: int, facts: TrialFacts, saved: SavedCollection) -> Element:
    """Return a strip with a line at each step that holds a tensor of a collection."""
    trial = content.materials[number].trial
    collection = trial.collections()[saved.name]
    reader = trial.index_reader
    first, last = facts.first_step or 0, facts.last_step or 0
    with reader.lock:
        layouts = [layout for layout in reader.index.layouts() if any(map(collection.matches, layout.slots))]
        steps = np.concatenate([[], *reader.index.steps_of_layouts(layouts).values()])
    places = np.unique(np.rint(_STRIP * (steps - first) / max(last - first, 1)).astype(int))
    path = "".join(f"M{place} 0V12" for place in places.tolist())
    words = f"{saved.name}: steps {saved.first_step} to {saved.last_step}"
    return element(
        "svg",
        element("title", words),
        element("path", d=path, class_="strip"),
        viewBox=f"-1 0 {_STRIP + 2} 12",
        role="img",
        class_="strips",
        preserveAspectRatio="none",
    )
