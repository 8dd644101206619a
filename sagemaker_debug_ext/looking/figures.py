"""Figures of a trial to go on with: each function returns a matplotlib figure, which is not shown by itself.

They need ``pip install 'sagemaker_debug_ext[report]'``. For other libraries, `Tensor.to_pandas` and `Tensor.to_xarray`
return the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, did_you_mean
from sagemaker_debug_ext.looking.codes import MOST_OCTAVES, NAN, NOT_SAVED, ZERO, octaves_of
from sagemaker_debug_ext.looking.curves import Curve, CurveReader
from sagemaker_debug_ext.looking.measures import MEASURES, LayerGrid
from sagemaker_debug_ext.looking.measuring import read_measures
from sagemaker_debug_ext.looking.numbers import as_step
from sagemaker_debug_ext.looking.ranks import RankReader
from sagemaker_debug_ext.looking.thinning import pool_grid, thin_curve
from sagemaker_debug_ext.looking.views.data import class_pairs, feature_importances
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sagemaker_debug_ext.trials import Tensor, Trial

_MAX_POINTS: Final = 2_000
_MAX_CURVES: Final = 24
_MAX_ROWS: Final = 500
_MAX_COLUMNS: Final = 1_000
_MAX_LABELS: Final = 40
_SECONDS: Final = 60.0


def losses(trial: Trial, mode: ModeKeys | None = None) -> Figure:
    """Return the losses of a trial over its steps; bands reach from the lowest to the highest value.

    Args:
        trial: The trial.
        mode: Mode of the steps; all by default.

    Raises:
        SMDebugValueError: No loss was saved.
        MissingDependencyError: matplotlib is not installed.

    Example:
        >>> figures.losses(trial).savefig("losses.png")
    """
    found = [curve for curve in CurveReader(trial, _MAX_CURVES).read() if curve.is_loss and mode in (None, curve.mode)]
    if not found:
        raise SMDebugValueError(f"trial {trial.name!r} must have saved a loss")
    figure, (panel,) = _figure(1)
    _draw_curves(panel, found, [f"{curve.name} {curve.mode.name}" for curve in found], "loss")
    return figure


def curves(trial: Trial, names: Sequence[str] | None = None) -> Figure:
    """Return single numbers over the steps, a panel for each tensor: losses, metrics and further ones.

    Args:
        trial: The trial.
        names: The tensors; by default the first 24.

    Raises:
        SMDebugValueError: None of them holds single numbers.
    """
    read = CurveReader(trial, _MAX_CURVES if names is None else len(trial.tensor_names())).read()
    shown = list(dict.fromkeys(curve.name for curve in read if names is None or curve.name in set(names)))
    if not shown:
        raise SMDebugValueError(f"names must be tensors that hold single numbers (got {names!r})")
    figure, panels = _figure(len(shown))
    for panel, name in zip(panels, shown, strict=True):
        of_name = [curve for curve in read if curve.name == name]
        _draw_curves(panel, of_name, [curve.mode.name for curve in of_name], name)
    return figure


def layers(
    trial: Trial,
    measure: str = "gradient_norm",
    against: Literal["start", "others"] = "start",
    worker: str | None = None,
) -> Figure:
    """Return a measure of all layers over the steps, as a heat map of octaves.

    Args:
        trial: The trial.
        measure: ``gradient_norm``, ``update_ratio``, ``weight_norm``, ``output_size`` or another one of
            `looking.measures.MEASURES`.
        against: ``start`` compares each layer with its own first steps, ``others`` with the median of the layers at
            the same step. Shares are shown as they are.
        worker: The worker whose values to read; by default the first that saved each tensor.

    Raises:
        SMDebugValueError: There is no such measure, or the trial has saved nothing for it.
    """
    if measure not in MEASURES:
        allowed = ", ".join(MEASURES)
        hint = did_you_mean(str(measure), MEASURES)
        raise SMDebugValueError(f"measure must be one of {allowed} (got {measure!r}){hint}")
    if against not in ("start", "others"):
        raise SMDebugValueError(f"against must be 'start' or 'others' (got {against!r})")
    grids = read_measures(trial, (), _SECONDS, worker).grids
    if measure not in grids:
        has = ", ".join(grids) or "none of the measures"
        raise SMDebugValueError(f"trial {trial.name!r} must have saved what {measure} needs (it has {has})")
    figure, (panel,) = _figure(1)
    _draw_grid(figure, panel, grids[measure], against)
    return figure


def histograms(tensor: Tensor, steps: int = 8, mode: ModeKeys = ModeKeys.GLOBAL) -> Figure:
    """Return how the values of a tensor are distributed at some steps, evenly spread.

    Args:
        tensor: The tensor, as `trial.tensor(name)` returns it.
        steps: Highest number of steps to show.
        mode: Mode in which steps count.

    Raises:
        SMDebugValueError: The tensor has no finite numbers.
    """
    if isinstance(steps, bool) or not isinstance(steps, int):
        raise SMDebugTypeError(f"steps must be a whole number (got {steps!r})")
    if steps < 1:
        raise SMDebugValueError(f"steps must be at least 1 (got {steps!r})")
    saved = tensor.steps(mode)
    places = np.unique(np.linspace(0, max(len(saved) - 1, 0), min(steps, len(saved))).astype(int)).tolist()
    values = {}
    for step in (saved[place] for place in places):
        value = tensor.value(step, mode)
        if value.dtype.kind in "biuf":
            numbers = value.reshape(-1).astype(np.float64)
            values[step] = numbers[np.isfinite(numbers)]
    joined = np.concatenate(list(values.values())) if values else np.empty(0)
    if not len(joined):
        raise SMDebugValueError(f"tensor {tensor.name!r} must hold finite numbers at some step")
    figure, (panel,) = _figure(1)
    edges = np.histogram_bin_edges(joined, 48)
    tops = []
    for place, (step, numbers) in enumerate(values.items()):
        counts = np.histogram(numbers, edges)[0]
        tops.append((-place, f"step {as_step(step)}"))
        panel.stairs(0.9 * counts / max(counts.max(), 1) - place, edges, baseline=-place, fill=True, alpha=0.75)
    panel.set_yticks([at for at, _ in tops], [text for _, text in tops])
    panel.set_title(_text(tensor.name))
    return figure


def ranks(trial: Trial) -> Figure:
    """Return how far each worker is from the median worker over the steps, in octaves.

    Raises:
        SMDebugValueError: There are no several workers to compare.
    """
    found = RankReader(trial).read(_SECONDS)
    if found is None:
        raise SMDebugValueError(f"trial {trial.name!r} must have layers of several workers")
    figure, (panel,) = _figure(1)
    shown = np.where(found.saved, found.octaves, np.nan)
    image = panel.imshow(shown, aspect="auto", interpolation="nearest", vmin=0, vmax=MOST_OCTAVES, cmap="Oranges")
    panel.set_yticks(range(len(found.workers)), [_text(worker) for worker in found.workers])
    _label_steps(panel, found.steps)
    panel.set_title(f"largest deviation from the median worker, {found.measure}")
    figure.colorbar(image, label="octaves")
    return figure


def confusion(trial: Trial) -> Figure:
    """Return how often each class was predicted for each label, over the last 20 steps that have both.

    Raises:
        SMDebugValueError: Predictions and labels were not saved.
    """
    pairs = class_pairs(trial)
    if pairs is None:
        raise SMDebugValueError(f"trial {trial.name!r} must have saved predictions of classes and their labels")
    classes = np.unique(np.concatenate([pairs.labels, pairs.predictions]))
    counts = np.zeros((len(classes), len(classes)), int)
    np.add.at(counts, (np.searchsorted(classes, pairs.labels), np.searchsorted(classes, pairs.predictions)), 1)
    figure, (panel,) = _figure(1)
    panel.imshow(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), vmin=0, vmax=1, cmap="Blues")
    if len(classes) <= _MAX_LABELS:
        panel.set_xticks(range(len(classes)), classes.tolist())
        panel.set_yticks(range(len(classes)), classes.tolist())
        for row, column in np.argwhere(counts).tolist():
            panel.text(column, row, str(counts[row, column]), ha="center", va="center", fontsize="small")
    panel.set_xlabel("predicted class")
    panel.set_ylabel("true class")
    return figure


def importances(trial: Trial, features: int = 20) -> Figure:
    """Return the importance of the most important features at the last round.

    Args:
        trial: The trial of an XGBoost job.
        features: Highest number of features.

    Raises:
        SMDebugValueError: The collection feature_importance was not saved.
    """
    found = feature_importances(trial)[:features]
    if not found:
        raise SMDebugValueError(f"trial {trial.name!r} must have saved the collection feature_importance")
    figure, (panel,) = _figure(1)
    panel.barh([_text(name) for name, _ in reversed(found)], [value for _, value in reversed(found)])
    panel.set_xlabel("importance")
    return figure


def compare(trials: Sequence[Trial]) -> Figure:
    """Return the losses of several trials in one panel.

    Raises:
        SMDebugValueError: None of them has saved a loss.
    """
    found, labels = [], []
    for trial in trials:
        for curve in CurveReader(trial, _MAX_CURVES).read():
            if curve.is_loss:
                found.append(curve)
                labels.append(f"{trial.name} {curve.mode.name}")
    if not found:
        raise SMDebugValueError("trials must have saved a loss")
    figure, (panel,) = _figure(1)
    _draw_curves(panel, found, labels, "loss")
    return figure


def _figure(num_panels: int) -> tuple[Figure, list[Any]]:
    """Return a figure with panels below each other, closed so that it is not shown by itself."""
    pyplot: Any = import_optional("matplotlib.pyplot", "A figure", "report")
    figure, panels = pyplot.subplots(num_panels, squeeze=False, layout="constrained", figsize=(8, 2 + 2.5 * num_panels))
    pyplot.close(figure)
    return figure, panels[:, 0].tolist()


def _draw_curves(panel: Any, found: Sequence[Curve], labels: Sequence[str], title: str) -> None:
    for curve, label in zip(found, labels, strict=True):
        thin = thin_curve(curve.steps, curve.values, _MAX_POINTS)
        (line,) = panel.plot(thin.steps, thin.last, label=_text(label))
        panel.fill_between(thin.steps, thin.low, thin.high, color=line.get_color(), alpha=0.2, linewidth=0)
    values = np.concatenate([curve.values[np.isfinite(curve.values)] for curve in found] or [np.empty(0)])
    if len(values) and values.min() > 0 and values.max() / values.min() >= 30:
        panel.set_yscale("log")
    panel.set_xlabel("step")
    panel.set_title(_text(title))
    if len(found) > 1:
        panel.legend()


def _draw_grid(figure: Figure, panel: Any, grid: LayerGrid, against: Literal["start", "others"]) -> None:
    is_share = grid.measure.kind == "share"
    cells = pool_grid(grid, "share" if is_share else against, _MAX_ROWS, _MAX_COLUMNS)
    number = np.array([(code - 1) / 250 if is_share else octaves_of(code) for code in range(256)])
    number[[NOT_SAVED, *range(ZERO, NAN + 1)]] = np.nan
    last = cells.first_step + cells.codes.shape[1] * cells.steps_per_column
    low, high, colors = (0, 1, "cividis") if is_share else (-MOST_OCTAVES, MOST_OCTAVES, "RdBu_r")
    extent = (cells.first_step, last, len(cells.codes) - 0.5, -0.5)
    options = {"aspect": "auto", "interpolation": "nearest", "extent": extent}
    image = panel.imshow(number[cells.codes], vmin=low, vmax=high, cmap=colors, **options)
    broken = np.where(cells.codes > ZERO, 1.0, np.nan)
    panel.imshow(broken, vmin=0, vmax=1, cmap="spring_r", **options)  # NaN and infinity in magenta
    names = [grid.tensors[begin] for begin in cells.row_edges[:-1]]
    every = max(1, -(-len(names) // _MAX_LABELS))
    panel.set_yticks(range(0, len(names), every), [_text(name) for name in names[::every]])
    panel.set_xlabel("step")
    panel.set_title(f"{grid.measure.title} by layer")
    figure.colorbar(image, label="share" if is_share else f"octaves against {against}")


def _label_steps(panel: Any, steps: Sequence[int]) -> None:
    places = np.unique(np.linspace(0, len(steps) - 1, 6).astype(int)).tolist()
    panel.set_xticks(places, [as_step(steps[place]) for place in places])
    panel.set_xlabel("step")


def _text(name: str) -> str:
    """Return a name as it stands in a figure, where ``$`` would begin a formula."""
    return name.encode("ascii", "backslashreplace").decode()[:60].replace("$", r"\$")
