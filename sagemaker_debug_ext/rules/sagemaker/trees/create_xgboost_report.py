"""CreateXgboostReport: writes a report on an XGBoost job."""

from __future__ import annotations

import importlib
import json
import logging
from pathlib import Path
from typing import Final

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.xgboost_report import xgboost_report
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.vocabulary import CollectionKeys

_LOG: Final = logging.getLogger(__name__)

REPORT_NAME: Final = "xgboost_report"


class CreateXgboostReport(BuiltinRule):
    """Writes a report on an XGBoost job. Nothing is evaluated, so this rule never fires.

    When the evaluation ends, ``xgboost_report.html`` and ``xgboost_report.json`` are written to the rule's output
    folder. Nothing is written without an output folder, or if no step has data for the report.

    The report names the task of the model. It shows the distribution of the labels, the training and validation metrics
    by round, the feature importance by weight, gain and cover, and the hyperparameters. For classifiers, it adds the
    confusion matrix, precision, recall and F1, and the accuracy of each class by round. With two classes, it also shows
    the ROC curve and the area under it. For regression, it adds the residuals at the last round and the absolute error
    of each tenth of the labels by round. The page is that of ``sagemaker-debug report``, with its curves, some of the
    trees, and what was saved. Sections without saved data are omitted.

    Example:
        >>> rule = create_rule("CreateXgboostReport", trial)
        >>> rule.output_path = "reports"
        >>> invoke_rule(rule)
    """

    spec_name = "CreateXgboostReport"
    evaluates_only_tensors = True
    writes_report = True
    advice = ""

    def configure(self) -> None:
        self._has_material = False
        self._selections = [need.selection for need in self.needs()]

    def needs(self) -> tuple[TensorRequirement, ...]:
        collections = (
            CollectionKeys.METRICS,
            CollectionKeys.FEATURE_IMPORTANCE,
            CollectionKeys.HYPERPARAMETERS,
            CollectionKeys.PREDICTIONS,
            CollectionKeys.LABELS,
        )
        return tuple(TensorRequirement(name, Selection(collections=(name,)), is_required=False) for name in collections)

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return no issue; the step counts as evaluated if the report uses its data."""
        if not any(view.selected(selection) for selection in self._selections):
            return None
        self._has_material = True
        return []

    def evaluation_ended(self) -> None:
        """Write the report, or log why there is none."""
        if not self._has_material:
            _LOG.warning("there is no report on %s: no step has data for it", self.base_trial.path)
            return
        if self.output_path is None:
            return
        report = xgboost_report(self.base_trial)
        folder = Path(self.output_path)
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(_finite(report), indent=2, allow_nan=False)
        (folder / f"{REPORT_NAME}.json").write_text(text + "\n", encoding="utf-8")
        # the layer that draws pages is above this one, so it is loaded by name
        pages = importlib.import_module("sagemaker_debug_ext.looking.report")
        title = f"XGBoost training report: {self.base_trial.name}"
        options = pages.ReportOptions(title=title)
        pages.write_report([self.base_trial], folder / f"{REPORT_NAME}.html", [None], options)


def _finite(value: object) -> object:
    """Return a value with None in place of numbers that JSON cannot represent."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not -float("inf") < value < float("inf") else value
