"""Which tensors belong to XGBoost's collections, and what anybody asks for, without XGBoost."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.hooks.xgboost.collections import BUILTIN_PATTERNS, contributors, may_match, select_kinds

PIECES = [
    "a",
    "full",
    "_shap",
    "full_shap/",
    "f1",
    ".",
    ".*",
    "[a-f]",
    "?",
    "*",
    "+",
    "{0}",
    "{0,2}",
    "$",
    "|",
    "(x|a)",
]
PREFIXES = ["full_shap", "trees", "a"]
NAMES = ["f1", "a", "x", "aa", "", "full_shap/f1"]


@st.composite
def patterns(draw):
    """Draw regular expressions, most of them anchored."""
    pattern = draw(st.sampled_from(["^", "^", ""])) + "".join(draw(st.lists(st.sampled_from(PIECES), max_size=5)))
    try:
        re.compile(pattern)
    except re.error:
        return "^full_shap/"
    return pattern


@given(pattern=patterns(), prefix=st.sampled_from(PREFIXES), rest=st.sampled_from(NAMES))
def test_may_match_then_is_true_wherever_the_pattern_is_found(pattern, prefix, rest):
    """No name that a pattern is found in is overlooked."""
    if re.search(pattern, f"{prefix}/{rest}"):
        assert may_match(pattern, prefix)


def test_may_match_when_anchored_to_other_text_then_is_false():
    """The patterns that exist from the start ask for their own kind only."""
    for name in ("hyperparameters", "feature_importance", "average_shap", "full_shap", "trees"):
        others = [pattern for other, patterns in BUILTIN_PATTERNS.items() if other != name for pattern in patterns]
        assert not any(may_match(pattern, name) for pattern in others)


def collections(*patterns):
    return [Collection("mine", include_regex=patterns)]


def test_select_when_asked_by_pattern_or_name_then_finds_the_kind():
    """Names of features decide, where a pattern leaves it open."""
    assert select_kinds(collections("f1$"), ["f0", "f1"], []) == {"feature_importance", "average_shap", "full_shap"}
    assert select_kinds(collections("f9$"), ["f0", "f1"], []) == set()
    assert select_kinds(collections("eta"), [], ["eta"]) == {"hyperparameters"}
    assert select_kinds(collections("^trees/Gain$", "labels"), [], []) == {"trees", "labels"}
    listed = Collection("mine", tensor_names=["average_shap/f0", "predictions"])
    assert select_kinds([listed], ["f0"], []) == {"average_shap", "predictions"}


class Endless(list):
    """Names that must not be looked at."""

    def __iter__(self):
        raise AssertionError("the names are looked at")


def test_select_when_no_pattern_can_match_then_looks_at_no_name():
    """A million features cost nothing as long as nobody asks for them."""
    metrics = [Collection(name, include_regex=BUILTIN_PATTERNS[name]) for name in ("metrics", "losses", "labels")]
    assert select_kinds(metrics, Endless(), Endless()) == {"labels"}


def test_contributors_then_end_with_the_base_value_unless_a_feature_has_its_name():
    """XGBoost adds a column to those of the features."""
    assert contributors(["a"]) == ["a", "bias"]
    assert contributors(["bias", "a"]) == ["bias", "a"]
