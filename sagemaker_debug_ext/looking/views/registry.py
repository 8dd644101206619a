"""All views in their order, which is that of the sections of a report and of the tabs of the live page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sagemaker_debug_ext.looking.page.markup import Child
from sagemaker_debug_ext.looking.views.compare import compare_view
from sagemaker_debug_ext.looking.views.curves import curves_view
from sagemaker_debug_ext.looking.views.data import data_view
from sagemaker_debug_ext.looking.views.findings import findings_view
from sagemaker_debug_ext.looking.views.layers import layers_view, tensors_view
from sagemaker_debug_ext.looking.views.parts import Content
from sagemaker_debug_ext.looking.views.rules import rules_view, saved_view
from sagemaker_debug_ext.looking.views.trees import trees_view
from sagemaker_debug_ext.looking.views.verdict import verdict_view
from sagemaker_debug_ext.looking.views.workers import ranks_view

VIEWS: Final[tuple[tuple[str, str, Callable[[Content], Child]], ...]] = (
    ("verdict", "Verdict", verdict_view),
    ("finding-1", "Evidence", findings_view),
    ("compare", "Compare", compare_view),
    ("layers", "Layers × steps", layers_view),
    ("curves", "Curves", curves_view),
    ("tensors", "Tensors", tensors_view),
    ("workers", "Workers", ranks_view),
    ("data", "Data", data_view),
    ("trees", "Trees", trees_view),
    ("rules", "Rules", rules_view),
    ("saved", "What was saved", saved_view),
)
"""Anchor, title and function of each view; a view that has nothing to show is None or empty."""
