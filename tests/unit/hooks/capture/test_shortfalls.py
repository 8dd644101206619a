"""What was asked of a hook and did not come."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.hooks.capture.shortfalls import find_shortfalls

BUILTIN = {"losses": ["[Ll]oss"], "gradients": ["^gradient"], "default": [], "all": []}
HINTS = {"losses": "register the loss"}


def shortfalls(collection, *members):
    return list(find_shortfalls([collection], {collection.name: members}, BUILTIN, HINTS))


@pytest.mark.parametrize(
    ("collection", "members", "told"),
    [
        (Collection("r", ["relu", "gelu"]), ["relu_output_0"], ["pattern 'gelu' of collection 'r' matched no tensor"]),
        (Collection("relu", ["gelu"]), [], ["collection 'relu' stayed empty: no tensor matched 'gelu'"]),
        (Collection("losses", ["[Ll]oss"]), [], ["collection 'losses' stayed empty: register the loss"]),
        (Collection("gradients", ["^gradient"]), [], ["collection 'gradients' stayed empty"]),
        (
            Collection("trees"),
            [],
            ["collection 'trees' stayed empty, because the hook of this framework has no tensors for it"],
        ),
        (Collection("losses", ["[Ll]oss"]), ["criterion_output_0"], []),
        (Collection("default"), [], []),
        (Collection("default", ["fc9"]), [], ["collection 'default' stayed empty: no tensor matched 'fc9'"]),
        (Collection("relu", ["relu", "relu"]), ["relu_output_0"], []),
    ],
)  # fmt: skip
def test_find_shortfalls_when_something_is_missing_then_names_it_once(collection, members, told):
    """The patterns of the framework are not the script's, and may match nothing."""
    assert shortfalls(collection, *members) == told
