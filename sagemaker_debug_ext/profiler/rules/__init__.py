"""Rules over profiler data: what is slow, and what to change."""

from __future__ import annotations

from sagemaker_debug_ext.profiler.rules.base import Finding, ProfilerRule, Verdict
from sagemaker_debug_ext.profiler.rules.evaluation import (
    ProfileEvaluation,
    create_profiler_rule,
    evaluate_profile,
    summarize,
)
from sagemaker_debug_ext.profiler.rules.profiler_report import create_report_rules, write_report
from sagemaker_debug_ext.profiler.rules.registry import RULES

__all__ = [
    "RULES",
    "Finding",
    "ProfileEvaluation",
    "ProfilerRule",
    "Verdict",
    "create_profiler_rule",
    "create_report_rules",
    "evaluate_profile",
    "summarize",
    "write_report",
]
