"""TensorBoard shows a tensor where a user looks for it."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.config.groups import Collection
from sagemaker_debug_ext.hooks.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.showing import find_shown
from sagemaker_debug_ext.hooks.steps import Shown


@pytest.fixture
def collections():
    found = CollectionSet(Collection, dict.fromkeys(("all", "default", "weights", "losses"), ()), saved=[])
    found.add(Collection("hidden", [".*"], save_histogram=False))
    return found


@pytest.mark.parametrize(
    ("members", "tag"),
    [
        (("weights",), "weights/w"),
        (("all", "default", "weights"), "weights/w"),
        (("all", "default"), "all/w"),
        (("hidden", "weights"), "weights/w"),
    ],
    ids=["one collection", "catch-alls come last", "catch-alls only", "one shows no histograms"],
)
def test_find_shown_when_it_is_no_number_then_is_a_histogram_of_a_collection(collections, members, tag):
    """The tag begins with the collection that says most of the tensor."""
    assert find_shown("w", members, collections) == Shown(tag, is_scalar=False)


def test_find_shown_when_a_collection_holds_scalars_then_is_a_number(collections):
    """Its tag is its name."""
    assert find_shown("loss", ("default", "losses"), collections) == Shown("loss", is_scalar=True)


def test_find_shown_when_no_collection_shows_histograms_then_is_nothing(collections):
    """Collections may be told to show none."""
    assert find_shown("w", ("hidden",), collections) is None
