"""The file of metrics that SageMaker reads from a training container (store format, section 10)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from sagemaker_debug_ext.hooks.options.config_file import JOB_NAME_VARIABLE

METRICS_FOLDER_VARIABLE: Final = "SAGEMAKER_METRICS_DIRECTORY"


class Metric(NamedTuple):
    """One value of a metric: a tensor's name, the mode and step within it, the value and when it was taken."""

    name: str
    mode: str
    mode_step: int
    value: float
    wall_time: float


class MetricsFile:
    """Appends metrics to ``<pid>.json`` in a folder, one JSON object a line.

    Args:
        folder: The folder; it is created when the first metric is written.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._path = Path(folder) / f"{os.getpid()}.json"

    @classmethod
    def find(cls, environ: Mapping[str, str]) -> MetricsFile | None:
        """Return the file that the environment asks for.

        Returns:
            None outside of a SageMaker job, and where nothing says where metrics go.
        """
        folder = environ.get(METRICS_FOLDER_VARIABLE)
        return cls(folder) if folder and JOB_NAME_VARIABLE in environ else None

    def write(self, metrics: Iterable[Metric]) -> None:
        """Append metrics."""
        lines = "".join(
            json.dumps(
                {
                    "MetricName": f"{metric.name}_{metric.mode}",
                    "Value": metric.value,
                    "Timestamp": metric.wall_time,
                    "IterationNumber": metric.mode_step,
                }
            )
            + "\n"
            for metric in metrics
        )
        if lines:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(lines)
