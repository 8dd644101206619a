"""Reports of scripts on their predictions: calls of scikit-learn's metrics of classes.

A script that compares its predictions with labels in another order sees a poor score, although its losses say that the
model is good. `observe` notes for the record of the program how well both agree.
"""

from __future__ import annotations

import functools
import inspect
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
    "confusion_matrix",
    "f1_score",
    "precision_score",
    "recall_score",
)
"""Functions whose first arguments are labels and predicted classes."""
FEWEST: Final = 50
MOST: Final = 100_000
"""Numbers of samples between which reports are noted."""
MOST_CALLS: Final = 500
"""Number of calls of a function after which it is left alone, as by a bootstrap."""


class ObservedMetric:
    """A function of scikit-learn that notes what it is called with; it is pickled and copied as that function.

    Args:
        function: The function.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._num_calls = 0
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, and note labels and predictions if it takes them."""
        result = self._function(*args, **kwargs)
        self._num_calls += 1
        if self._num_calls > MOST_CALLS or _is_called_by_library():
            return result
        with never_into_script(lambda error: LOG.debug("a report is not noted", exc_info=error)):
            given = dict(zip(("y_true", "y_pred"), args, strict=False)) | kwargs
            note(self._function.__name__, given["y_true"], given["y_pred"])
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_function"], name)

    def __repr__(self) -> str:
        return repr(self._function)

    def __copy__(self) -> ObservedMetric:
        return self

    def __deepcopy__(self, memo: object) -> ObservedMetric:
        return self

    def __reduce__(self) -> tuple[Callable[[bytes], object], tuple[bytes]]:
        return pickle.loads, (pickle.dumps(self._function),)


def _is_called_by_library() -> bool:
    """Return whether scikit-learn itself calls, as in the `score` of an estimator, which may be a baseline."""
    frame = inspect.currentframe()
    caller = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
    return caller is not None and str(caller.f_globals.get("__name__", "")).startswith("sklearn.")


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
