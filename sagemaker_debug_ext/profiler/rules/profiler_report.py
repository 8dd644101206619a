"""`ProfilerReport`: runs the other rules, and writes what they found under the original's names."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Final

from sagemaker_debug_ext.errors import SMDebugValueError, did_you_mean
from sagemaker_debug_ext.profiler.rules.base import ProfilerRule
from sagemaker_debug_ext.profiler.rules.registry import SAGEMAKER_RULES
from sagemaker_debug_ext.store.backends import open_backend

NAME: Final = "ProfilerReport"
FOLDER: Final = "profiler-reports"

_REPORT_DEFAULTS: Final[Mapping[str, Mapping[str, object]]] = {"LoadBalancing": {"threshold": 0.2}}
"""Defaults within the report that differ from those of the rule alone, as the service has them."""

_IGNORED: Final = ("opt_out_telemetry",)
"""Accepted because requests have it; nothing is ever sent anywhere."""


def create_report_rules(parameters: Mapping[str, object] | None = None) -> list[ProfilerRule]:
    """Return the rules of a report.

    Args:
        parameters: ``<Rule>_<parameter>`` → value, and ``opt_out_telemetry``, which has no effect.

    Raises:
        SMDebugValueError: There is no such rule or parameter, or a value is not allowed.
    """
    chosen: dict[str, dict[str, object]] = {name: dict(_REPORT_DEFAULTS.get(name, {})) for name in SAGEMAKER_RULES}
    for key, value in (parameters or {}).items():
        rule, _, parameter = key.partition("_")
        if key in _IGNORED or key == "scan_interval_us":
            continue
        if rule not in chosen:
            raise SMDebugValueError(
                f"ProfilerReport parameters must be named <Rule>_<parameter> (got {key!r}){did_you_mean(rule, chosen)}"
            )
        chosen[rule][parameter] = value
    return [SAGEMAKER_RULES[name](given) for name, given in chosen.items()]


def report_files(rules: Iterable[ProfilerRule]) -> dict[str, dict[str, Any]]:
    """Return the files of a report: name below the report's folder → content."""
    return {f"{FOLDER}/{rule.name}.json": rule.report() for rule in rules}


def write_report(rules: Iterable[ProfilerRule], output: str | os.PathLike[str]) -> list[str]:
    """Write the files of a report.

    Args:
        rules: The rules, after they saw the data.
        output: The folder, local or on S3, such as ``rule-output/ProfilerReport/profiler-output``.

    Returns:
        The names of the files below the folder.

    Raises:
        OSError: A file cannot be written.
    """
    backend = open_backend(output)
    files = report_files(rules)
    for name, content in files.items():
        backend.write(name, [json.dumps(content).encode()])
    return list(files)
