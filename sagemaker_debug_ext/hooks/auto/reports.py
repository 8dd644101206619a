"""Reports of scripts on their predictions: calls of scikit-learn's metrics of classes.

A script that compares its predictions with labels in another order sees a poor score, although its losses say that the
model is good. `observe` notes for the record of the program how well both agree.
"""

from __future__ import annotations

import functools
import logging
import pickle
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import numpy as np

from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.base import BaseHook
from sagemaker_debug_ext.hooks.fail_safe import never_into_script
from sagemaker_debug_ext.store.format.program import ReportRecord

LOG = logging.getLogger(__name__)

FUNCTIONS: Final = (
    "accuracy_score",
    "balanced_accuracy_score",
    "classification_report",
    "cohen_kappa_score",
    "confusion_matrix",
    "f1_score",
    "matthews_corrcoef",
    "precision_score",
    "recall_score",
)
"""Functions whose first arguments are labels and predicted classes."""
FEWEST: Final = 50
MOST: Final = 1_000_000
"""Numbers of samples between which reports are noted."""


class ObservedMetric:
    """A function of scikit-learn that notes what it is called with; it is pickled and copied as that function.

    Args:
        function: The function.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, and note labels and predictions if it takes them."""
        result = self._function(*args, **kwargs)
        with never_into_script(lambda error: LOG.debug("a report is not noted", exc_info=error)):
            given = dict(zip(("y_true", "y_pred"), args, strict=False)) | kwargs
            note(self._function.__name__, given["y_true"], given["y_pred"])
        return result

    def __reduce__(self) -> tuple[Callable[[bytes], object], tuple[bytes]]:
        return pickle.loads, (pickle.dumps(self._function),)


def observe(metrics: ModuleType) -> None:
    """Have the functions of a module note what scripts call them with; does nothing a second time."""
    for name in FUNCTIONS:
        function = getattr(metrics, name, None)
        if callable(function) and not isinstance(function, ObservedMetric):
            setattr(metrics, name, ObservedMetric(function))


def note(function: str, labels: Any, predicted: Any) -> None:
    """Note how well predictions agree with labels if a training is captured, and both are classes of samples."""
    hook = registry.current(BaseHook)
    if hook is None or not hook.has_trained:
        return
    values = [np.asarray(each) for each in (labels, predicted)]
    values = [value.reshape(-1) if value.shape[1:] == (1,) else value for value in values]
    if any(value.ndim != 1 or value.dtype.kind not in "biufUSO" for value in values):
        return
    if len(values[0]) == len(values[1]) and FEWEST <= len(values[0]) <= MOST:
        hook.note_report(ReportRecord.of(function, values[0], values[1]))
