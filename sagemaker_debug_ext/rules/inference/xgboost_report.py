"""Report on an XGBoost job: `xgboost_report` builds it from the trial, as JSON values.

Steps are boosting rounds. Sections without saved data are omitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.rules.inference.class_labels import confusion_matrix
from sagemaker_debug_ext.rules.inference.loss_pairs import loss_pairs
from sagemaker_debug_ext.rules.reading.numeric import Array, as_scalar
from sagemaker_debug_ext.rules.reading.step_view import numeric_value

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

Task: TypeAlias = Literal["binary classification", "multi-class classification", "regression"]
Numbers: TypeAlias = npt.NDArray[np.float64]

IMPORTANCE_KINDS: Final = ("weight", "gain", "cover")
TASKS: Final[Mapping[str, Task]] = {
    "binary": "binary classification",
    "multi": "multi-class classification",
    "reg": "regression",
    "count": "regression",
}
MAX_CLASSES: Final = 30
"""Labels with more distinct values than this are treated as numbers, unless the objective says otherwise."""
NUM_BINS: Final = 20


def xgboost_report(trial: Trial) -> dict[str, Any]:
    """Return the report on the trial of an XGBoost job, as JSON-compatible values."""
    steps = [
        step for step in trial.steps() if trial.has_tensor("labels") and _numbers(trial, "labels", step) is not None
    ]
    report: dict[str, Any] = {
        "trial": trial.name,
        "num_steps": len(trial.steps()),
        "hyperparameters": _hyperparameters(trial),
        "metrics": _metrics(trial),
        "feature_importance": {kind: _importance(trial, kind) for kind in IMPORTANCE_KINDS},
    }
    if not steps:
        return report
    labels = _numbers(trial, "labels", steps[-1])
    assert labels is not None  # the steps were chosen so
    task = recognise_task(str(report["hyperparameters"].get("objective", "")), labels)
    report.update(task=task, label_distribution=_distribution(labels, task))
    evaluated = [step for step in steps if trial.has_tensor("predictions") and _pair(trial, step) is not None]
    if evaluated:
        if task == "regression":
            report["regression"] = _regression(trial, evaluated)
        else:
            report["classification"] = _classification(trial, evaluated, task)
    return report


def recognise_task(objective: str, labels: Numbers) -> Task:
    """Return the task of a model, inferred from its objective or else from its validation labels."""
    family = objective.partition(":")[0]
    if family in TASKS:
        return TASKS[family]
    values = np.unique(labels)
    if len(values) > MAX_CLASSES or not np.array_equal(values, np.trunc(values)):
        return "regression"
    return "binary classification" if set(values) <= {0.0, 1.0} else "multi-class classification"


def predicted_classes(predictions: Numbers, objective: str) -> npt.NDArray[np.int64]:
    """Return the predicted class of each row: its arg-max, the value itself, or by the probability or margin of 1."""
    if predictions.ndim == 2 and predictions.shape[1] > 1:
        classes: npt.NDArray[np.int64] = np.argmax(predictions, axis=1).astype(np.int64)
        return classes
    flat = predictions.reshape(-1)
    if objective.startswith("multi") or np.array_equal(flat, np.trunc(flat)):
        return flat.astype(np.int64)
    return (flat >= (0.0 if objective == "binary:logitraw" else 0.5)).astype(np.int64)


def classification_scores(matrix: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Return precision, recall and F1 of each class and as micro, macro and weighted means of a confusion matrix."""
    right = np.diag(matrix).astype(np.float64)
    support, predicted = matrix.sum(axis=1), matrix.sum(axis=0)
    precision, recall = _ratio(right, predicted), _ratio(right, support)
    f1 = _ratio(2 * precision * recall, precision + recall)
    accuracy = float(right.sum() / matrix.sum())
    present = (support + predicted) > 0
    weights = support / support.sum()
    means = {
        name: {
            "micro": accuracy,
            "macro": float(values[present].mean()),
            "weighted": float((values * weights).sum()),
        }
        for name, values in (("precision", precision), ("recall", recall), ("f1", f1))
    }
    return {**means, "accuracy": accuracy, "accuracy_by_class": recall.tolist()}


def roc_curve(labels: Numbers, scores: Numbers) -> dict[str, Any]:
    """Return the ROC curve and the area under it, with None where a class is missing."""
    order = np.argsort(-scores, kind="stable")
    positive = labels[order] == 1
    last_of_score = np.append(np.nonzero(np.diff(scores[order]))[0], len(order) - 1)
    true_positives = np.append(0, np.cumsum(positive)[last_of_score])
    false_positives = np.append(0, np.cumsum(~positive)[last_of_score])
    if not true_positives[-1] or not false_positives[-1]:
        return {"false_positive_rate": None, "true_positive_rate": None, "area": None}
    x, y = false_positives / false_positives[-1], true_positives / true_positives[-1]
    area = float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))
    return {"false_positive_rate": x.tolist(), "true_positive_rate": y.tolist(), "area": area}


def decile_errors(labels: Numbers, predictions: Numbers) -> list[float]:
    """Return the mean absolute error for each tenth of the labels, from the smallest to the largest."""
    errors = np.abs(predictions - labels)[np.argsort(labels, kind="stable")]
    return [float(part.mean()) for part in np.array_split(errors, 10) if part.size]


def _ratio(above: Numbers, below: npt.NDArray[Any]) -> Numbers:
    ratio: Numbers = np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
    return ratio


def _numbers(trial: Trial, name: str, step: int) -> Numbers | None:
    value: Array | None = numeric_value(trial, name, step)
    return None if value is None or value.dtype.kind == "c" else value.astype(np.float64)


def _pair(trial: Trial, step: int) -> tuple[Numbers, Numbers] | None:
    """Return the labels and predictions of a step, or None unless both have one row per example."""
    labels, predictions = _numbers(trial, "labels", step), _numbers(trial, "predictions", step)
    if labels is None or predictions is None or not labels.ndim or not predictions.ndim:
        return None
    return (labels.reshape(-1), predictions) if labels.size == len(predictions) else None


def _hyperparameters(trial: Trial) -> dict[str, Any]:
    found = {}
    for name in trial.tensor_names():
        if name.startswith("hyperparameters/"):
            tensor = trial.tensor(name)
            value = tensor.value(tensor.steps()[0])
            found[name.partition("/")[2]] = value.reshape(-1)[0].item() if value.size == 1 else value.tolist()
    return found


def _metrics(trial: Trial) -> dict[str, Any]:
    """Return the histories of the training and validation metrics, paired by name."""
    pairs = loss_pairs(trial.tensor_names())
    return {
        name: {"training": _course(trial, training), "validation": _course(trial, name)}
        for name, training in sorted(pairs.items())
    }


def _course(trial: Trial, name: str) -> list[list[float]]:
    numbers = ((step, as_scalar(numeric_value(trial, name, step))) for step in trial.tensor(name).steps())
    return [[step, number] for step, number in numbers if number is not None]


def _importance(trial: Trial, kind: str) -> dict[str, float]:
    """Return the importance of each feature at the last step that has any, the largest first."""
    prefix = f"feature_importance/{kind}/"
    names = [name for name in trial.tensor_names() if name.startswith(prefix)]
    last = max((trial.tensor(name).steps()[-1:] for name in names), default=[])
    found = {
        name.removeprefix(prefix): number
        for name in names
        for step in last
        if (number := as_scalar(numeric_value(trial, name, step))) is not None
    }
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _distribution(labels: Numbers, task: Task) -> dict[str, Any]:
    if task == "regression":
        return _histogram(labels)
    values, counts = np.unique(labels, return_counts=True)
    return {"classes": values.tolist(), "counts": counts.tolist()}


def _histogram(values: Numbers) -> dict[str, Any]:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-300):  # too narrow to divide
        low, high = low - 0.5, high + 0.5
    counts, edges = np.histogram(finite, bins=NUM_BINS, range=(low, high))
    return {"edges": edges.tolist(), "counts": counts.tolist()}


def _classification(trial: Trial, steps: Sequence[int], task: Task) -> dict[str, Any]:
    objective = str(_hyperparameters(trial).get("objective", ""))
    course = []
    for step in steps:
        labels, predictions = _sure_pair(trial, step)
        matrix = confusion_matrix(labels.astype(np.int64), predicted_classes(predictions, objective))
        course.append({"step": step, **classification_scores(matrix)})
    result: dict[str, Any] = {"course": course, "confusion_matrix": matrix.tolist()}
    if task == "binary classification" and predictions.size == labels.size:
        result["roc"] = roc_curve(labels, predictions.reshape(-1))
    return result


def _regression(trial: Trial, steps: Sequence[int]) -> dict[str, Any]:
    course = []
    for step in steps:
        labels, predictions = _sure_pair(trial, step)
        flat = predictions.reshape(len(labels), -1)[:, 0]
        course.append({"step": step, "decile_errors": decile_errors(labels, flat)})
    return {"residuals": _histogram(flat - labels), "course": course}


def _sure_pair(trial: Trial, step: int) -> tuple[Numbers, Numbers]:
    pair = _pair(trial, step)
    assert pair is not None  # the steps were chosen so
    return pair
