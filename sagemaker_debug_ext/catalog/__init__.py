"""The catalog of rules as data: names, parameters, collections and images. Importing it loads no rule code."""

from __future__ import annotations

from sagemaker_debug_ext.catalog.images import rule_image_uri, rule_regions
from sagemaker_debug_ext.catalog.registry import (
    MXNET,
    PYTORCH,
    TENSORFLOW,
    XGBOOST,
    builtin_collection_patterns,
    check_catalog,
    default_collections,
    get_collection,
    get_rule_groups,
    get_rule_spec,
    list_rule_specs,
    register_rule_spec,
    rule_names,
    rules_for_framework,
)
from sagemaker_debug_ext.catalog.specs import ParameterSpec, RuleConfig, RuleSpec, other_trials

__all__ = [
    # rules
    "RuleSpec",
    "ParameterSpec",
    "RuleConfig",
    "get_rule_spec",
    "list_rule_specs",
    "register_rule_spec",
    "rule_names",
    "rules_for_framework",
    "get_rule_groups",
    "TENSORFLOW",
    "PYTORCH",
    "MXNET",
    "XGBOOST",
    "other_trials",
    # collections
    "builtin_collection_patterns",
    "default_collections",
    "get_collection",
    # images
    "rule_image_uri",
    "rule_regions",
    "check_catalog",
]
