"""The data view: confusion of classes, and samples if they are requested."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.looking.material import Material
from sagemaker_debug_ext.looking.numbers import as_number, as_step
from sagemaker_debug_ext.looking.page.charts import table
from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened
from sagemaker_debug_ext.looking.views.parts import Content
from sagemaker_debug_ext.rules.reading.tensor_roles import Role, naming_scheme_of, pattern_of
from sagemaker_debug_ext.vocabulary import CollectionKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

_MAX_CLASSES: Final = 30
_NUM_STEPS: Final = 20
_MAX_SAMPLES: Final = 64
_MAX_SIDE: Final = 128


def data_view(content: Content) -> Child:
    """Return classes and samples, as far as they were saved; None if nothing was."""
    inner: list[Child] = []
    for number, material in enumerate(content.materials):
        parts = [confusion_table(material), _samples(material, content.samples)]
        shown = [part for part in parts if part is not None]
        if shown:
            inner += [element("h3", content.title_of(number)) if content.title_of(number) else None, *shown]
    return element("section", element("h2", "Data"), inner, id="data") if inner else None


class ClassPairs(NamedTuple):
    """Labels and predicted classes of the same samples.

    Attributes:
        labels: ``(samples,)``: the true classes.
        predictions: ``(samples,)``: the predicted classes.
        first: First step that was read.
        last: Last step.
    """

    labels: npt.NDArray[Any]
    predictions: npt.NDArray[Any]
    first: int
    last: int


def class_pairs(trial: Trial) -> ClassPairs | None:
    """Return labels and predictions of the last 20 steps that have both; None if they were not saved."""
    names = trial.tensor_names()
    for _, answers, targets in naming_scheme_of(trial).answers(names):
        steps = sorted(set(trial.tensor(answers).steps()) & set(trial.tensor(targets).steps()))[-_NUM_STEPS:]
        pairs = [pair for step in steps if (pair := _classes(trial, answers, targets, step)) is not None]
        if pairs:
            labels, predictions = (np.concatenate(part) for part in zip(*pairs, strict=True))
            return ClassPairs(labels, predictions, steps[0], steps[-1])
    return None


def confusion_table(material: Material) -> Element | None:
    """Return how often each class was predicted for each label; None if predictions and labels were not saved."""
    pairs = class_pairs(material.trial)
    return None if pairs is None else _confusion(*pairs)


def _classes(trial: Trial, answers: str, targets: str, step: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
    try:
        scores, labels = trial.tensor(answers).value(step), trial.tensor(targets).value(step)
    except (OSError, DebugExtError):  # noted as a problem of the trial
        return None
    labels = labels.reshape(-1)
    if scores.ndim != 2 or scores.shape[1] < 2 or len(scores) != len(labels) or labels.dtype.kind not in "iu":
        return None
    return labels, scores.argmax(axis=1)


def _confusion(labels: npt.NDArray[Any], predictions: npt.NDArray[Any], first: int, last: int) -> Element:
    classes, counts = np.unique(np.concatenate([labels, predictions]), return_counts=True)
    shown = np.sort(classes[np.argsort(-counts)][:_MAX_CLASSES])
    rows = []
    for label in shown.tolist():
        of_label = predictions[labels == label]
        cells = [int((of_label == other).sum()) for other in shown.tolist()]
        recall = "" if not len(of_label) else as_number(float((of_label == label).mean()))
        shares = [min(int(8 * cell / max(len(of_label), 1) + 0.999), 8) for cell in cells]
        marked: list[Child] = [
            element("span", str(cell), class_=f"share{share}") for cell, share in zip(cells, shares, strict=True)
        ]
        rows.append((element("strong", str(label)), *marked, recall))
    rest = len(classes) - len(shown)
    note = f"; {rest} rarer classes are left out" if rest else ""
    return element(
        "figure",
        element(
            "figcaption",
            f"true class (rows) and predicted class (columns), steps {as_step(first)} to {as_step(last)}{note}",
        ),
        table(("true \\ predicted", *map(str, shown.tolist()), "recall"), rows, class_="confusion"),
    )


def feature_importances(trial: Trial) -> list[tuple[str, float]]:
    """Return the last importance of each feature, the largest first; empty if they were not saved."""
    collection = trial.collections().get(CollectionKeys.FEATURE_IMPORTANCE)
    found = []
    for name in trial.tensor_names():
        if collection is not None and collection.matches(name):
            values = trial.tensor(name).values()
            if values and all(value.size == 1 for value in values.values()):
                found.append((name, float(list(values.values())[-1].item())))
    return sorted(found, key=lambda item: -item[1])


def _samples(material: Material, count: int) -> Element | None:
    """Return images of the input data; None if none were asked for or saved."""
    trial = material.trial
    is_input = re.compile(pattern_of(Role.MODEL_INPUT, trial)).search
    for name in filter(is_input, trial.tensor_names() if count else ()):
        steps = trial.tensor(name).steps()
        try:
            value = trial.tensor(name).value(steps[-1])
        except (OSError, DebugExtError, IndexError):  # as above
            continue
        images = _as_images(value)
        if images is not None:
            addresses = [_png(image) for image in images[: min(count, _MAX_SAMPLES)]]
            pictures = [element("img", src=address, alt=f"sample {place}") for place, address in enumerate(addresses)]
            caption = f"inputs of {shortened(name)} at step {as_step(steps[-1])}"
            return element("figure", element("figcaption", caption), element("div", pictures, class_="samples"))
    return None


def _as_images(value: npt.NDArray[Any]) -> npt.NDArray[np.uint8] | None:
    """Return a batch of images as ``(N, height, width, 1 or 3)``; None if it is none."""
    if value.ndim != 4 or value.dtype.kind not in "iuf":
        return None
    if value.shape[1] in (1, 3):
        value = value.transpose(0, 2, 3, 1)
    if value.shape[3] not in (1, 3) or max(value.shape[1:3]) > 4096:
        return None
    every = -(-max(value.shape[1:3]) // _MAX_SIDE)
    numbers = np.nan_to_num(value[:_MAX_SAMPLES, ::every, ::every].astype(np.float64))
    low, high = numbers.min(), numbers.max()
    scaled: npt.NDArray[np.uint8] = (255 * (numbers - low) / ((high - low) or 1)).astype(np.uint8)
    return scaled


def _png(image: npt.NDArray[np.uint8]) -> str:
    height, width, channels = image.shape
    rows = np.zeros((height, width * channels + 1), np.uint8)
    rows[:, 1:] = image.reshape(height, -1)
    parts = b"\x89PNG\r\n\x1a\n"
    color_type = 2 if channels == 3 else 0
    header = struct.pack(">IIBBBBB", width, height, 8, color_type, 0, 0, 0)
    for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")):
        parts += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return "data:image/png;base64," + base64.b64encode(parts).decode()
