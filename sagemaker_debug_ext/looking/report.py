"""Write a trial, or several, as one page in one file: `write_report`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import attrs
import jsonschema

from sagemaker_debug_ext._json import JSONObject
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.looking.material import Material, gather, run_rules
from sagemaker_debug_ext.looking.page.document import document
from sagemaker_debug_ext.looking.page.markup import Child, element, shortened
from sagemaker_debug_ext.looking.story import Story, story_schema
from sagemaker_debug_ext.looking.summary.keeping import describe_rules, find_summary, make_summary
from sagemaker_debug_ext.looking.telling import tell
from sagemaker_debug_ext.looking.views.parts import Content, Detail
from sagemaker_debug_ext.looking.views.registry import VIEWS
from sagemaker_debug_ext.rules.recommended import recommended_rules
from sagemaker_debug_ext.store.backends import open_backend

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.base import Rule
    from sagemaker_debug_ext.trials import Trial

MAX_TRIALS: Final = 8
DEFAULT_MAX_MB: Final = 3.0
DEFAULT_SECONDS: Final = 60.0

_DETAILS: Final = (
    Detail(),
    Detail(rows=256, columns=512, points=300),
    Detail(rows=200, columns=400, points=200, curves=16),
    Detail(rows=120, columns=240, points=120, curves=12, tensors=6, has_tables=False),
    Detail(rows=64, columns=120, points=60, curves=8, tensors=0, has_tables=False),
)
"""Levels of detail of a page, the finest first."""

_S3: Final = "s3://"
_STORY: Final = re.compile(r'<script type="application/json" id="story">(.*?)</script>', re.DOTALL)


@attrs.frozen(kw_only=True)
class ReportOptions:
    """Content and limits of a report.

    Args:
        title: Title of the page; by default the names of the trials.
        max_mb: Highest size of the page in MB, at least 0.3.
        seconds: Time for reading the layers of each trial; the page names the steps that were not read.
        samples: Number of samples of the input data to show, at most 64; 0 keeps all data out of the page.
        start: First global step that rules evaluate.
        end: First global step that rules do not evaluate.
    """

    title: str | None = None
    max_mb: float = DEFAULT_MAX_MB
    seconds: float = DEFAULT_SECONDS
    samples: int = 0
    start: int = 0
    end: int | None = None

    def __attrs_post_init__(self) -> None:
        for name, least in (("max_mb", 0.3), ("seconds", 0), ("samples", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise SMDebugTypeError(f"{name} must be a number (got {value!r})")
            if not value >= least:
                raise SMDebugValueError(f"{name} must be at least {least} (got {value!r})")


def read_material(
    trials: Sequence[Trial],
    rules: Sequence[Mapping[str, Rule] | None] | None = None,
    options: ReportOptions | None = None,
) -> tuple[Material, ...]:
    """Run rules over trials, and read the data for a report; a summary in a trial saves both.

    Args:
        trials: One to eight trials.
        rules: Rules of each trial by name, None for none; by default the recommended ones.
        options: Options of the report.

    Raises:
        SMDebugValueError: No trial is given, or more than eight.
    """
    options = options or ReportOptions()
    if not 1 <= len(trials) <= MAX_TRIALS:
        raise SMDebugValueError(f"a report is of 1 to {MAX_TRIALS} trials (got {len(trials)})")
    chosen = [recommended_rules(trial) for trial in trials] if rules is None else rules
    return tuple(_read(trial, of_trial, options) for trial, of_trial in zip(trials, chosen, strict=True))


def _read(trial: Trial, rules: Mapping[str, Rule] | None, options: ReportOptions) -> Material:
    summary = find_summary(trial)
    if rules is None:
        verdict = None
    elif summary is not None and not options.start and options.end is None and describe_rules(rules) == summary.rules:
        verdict = summary.material.verdict
    else:
        verdict = run_rules(trial, rules, options.start, options.end)
    return (
        gather(trial, verdict, options.seconds) if summary is None else attrs.evolve(summary.material, verdict=verdict)
    )


def write_summary(trial: Trial) -> int:
    """Write a summary into a trial: one object from which reports are made without reading the trial.

    smdebug ignores the object. Reports use it while the files of the trial are the same, by their versions or, after a
    copy, by their checksums. Reports with other rules than the recommended ones run these over the trial.

    Args:
        trial: The trial of a job that has ended.

    Returns:
        Size of the summary in bytes.

    Raises:
        SMDebugRuntimeError: A file of the trial cannot be used, or the trial changes meanwhile.
        OSError: The summary cannot be written; `StorageError` on S3.

    Example:
        >>> write_summary(create_trial("s3://bucket/job/debug-output"))
    """
    return make_summary(trial, lambda material: render((material,), ReportOptions()))


def tell_story(
    trials: Sequence[Trial],
    rules: Sequence[Mapping[str, Rule] | None] | None = None,
    options: ReportOptions | None = None,
) -> Story:
    """Return the story of trials; see `read_material` for the arguments.

    Example:
        >>> print(tell_story([trial]).headline)
        Learning rate too high in net.fc1.weight: from step 310 on, found at step 340.
    """
    return tell(read_material(trials, rules, options))


def write_report(
    trials: Sequence[Trial],
    path: str | os.PathLike[str],
    rules: Sequence[Mapping[str, Rule] | None] | None = None,
    options: ReportOptions | None = None,
) -> Story:
    """Write trials as one page in one file that needs no network, and return the story that it tells.

    The same trials give the same bytes, unless reading takes longer than `ReportOptions.seconds`.

    Args:
        trials: One to eight trials.
        path: The file to write, which appears when it is complete, or ``s3://bucket/key``.
        rules: Rules of each trial by name, None for none; by default the recommended ones.
        options: Options of the report.

    Raises:
        SMDebugValueError: No trial is given, or more than eight.
        OSError: The file cannot be written.

    Example:
        >>> write_report([create_trial("debug-output")], "report.html")
    """
    options = options or ReportOptions()
    text, story = render(read_material(trials, rules, options), options)
    write_page(path, text)
    return story


def render(materials: tuple[Material, ...], options: ReportOptions) -> tuple[str, Story]:
    """Return the page, in the finest detail that its size allows, and the story."""
    limit = options.max_mb * 1e6
    for place, detail in enumerate(_DETAILS):
        story = tell(materials, _notes(materials, detail, place))
        text = _page(Content(story=story, materials=materials, detail=detail, samples=options.samples), options)
        if len(text.encode()) <= limit:
            return text, story
    raise SMDebugValueError(f"max_mb must be larger for these trials (got {options.max_mb!r})")


def write_page(path: str | os.PathLike[str], text: str) -> None:
    """Write a page beside its place and rename it, readable by its owner only; or to S3.

    Args:
        path: A file, or ``s3://bucket/key``.
        text: The page.

    Raises:
        OSError: It cannot be written.
        SMDebugValueError: The URL has no key, or the folder of the file does not exist.
    """
    if os.fspath(path).startswith(_S3):
        folder, _, name = os.fspath(path).rpartition("/")
        if not name or len(folder) < len(_S3):
            raise SMDebugValueError(f"a report on S3 must be s3://bucket/key (got {os.fspath(path)!r})")
        open_backend(folder).write(name, [text.encode()])
        return
    target = Path(path)
    if not target.parent.is_dir():
        raise SMDebugValueError(f"a report must be a file in an existing folder (got {os.fspath(path)!r})")
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def read_report(path: str | os.PathLike[str]) -> JSONObject:
    """Return the story that a report holds, as `Story.to_json_dict` gave it.

    Raises:
        SMDebugValueError: The file is not a report.
        FileNotFoundError: There is no such file.
    """
    found = _STORY.search(Path(path).read_text(encoding="utf-8", errors="replace"))
    try:
        story: Any = json.loads(found[1]) if found else None
        jsonschema.validate(story, story_schema())
    except (ValueError, jsonschema.ValidationError) as error:
        raise SMDebugValueError(f"{os.fspath(path)!r} is not a report") from error
    return cast(JSONObject, story)


def _notes(materials: Sequence[Material], detail: Detail, place: int) -> tuple[str, ...]:
    notes = []
    if place:
        notes.append("Pictures are coarser than usual, so that the page keeps its size; --max-mb allows more.")
    for material in materials:
        rows = max((len(grid.tensors) for grid in material.measures.grids.values()), default=0)
        columns = max((len(grid.steps) for grid in material.measures.grids.values()), default=0)
        if rows > detail.rows or columns > detail.columns:
            notes.append(
                f"{material.trial.name}: heat maps show {rows} tensors at {columns} steps in at most {detail.rows} × "
                f"{detail.columns} cells; of each block the value farthest from usual is shown."
            )
        if any(len(curve.steps) > detail.points for curve in material.curves):
            notes.append(
                f"{material.trial.name}: curves have at most {detail.points} points; bands reach from the lowest to "
                "the highest value of each."
            )
        num_curves = len(material.curve_names)
        if num_curves > min(len(material.curves), detail.curves):
            notes.append(f"{material.trial.name}: {num_curves} tensors could be drawn as curves; the first are.")
    return tuple(notes)


def _page(content: Content, options: ReportOptions) -> str:
    names = ", ".join(shortened(facts.name) for facts in content.story.trials)
    views = [(anchor, title, draw(content) or None) for anchor, title, draw in VIEWS]
    links = [element("a", title, href=f"#{anchor}") for anchor, title, view in views if view is not None]
    body = [
        element("nav", links, element("button", "theme", type="button", id="theme", hidden=True), aria_label="views"),
        element("main", [view for _, _, view in views], _foot(content)),
    ]
    return document(options.title or f"{names}: report", body, {"story": content.story.to_json_dict()})


def _foot(content: Content) -> Child:
    samples = "samples of the input data, " if content.samples else ""
    holds = f"This page holds names, {samples}norms, histograms, losses and counts"
    keeps = "" if content.samples else "; it holds no sample of the data"
    return element("footer", f"{holds}{keeps}. It asks nothing of any network.")
