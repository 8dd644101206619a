"""Ranges of objects that were read once are read from a temporary file again, byte for byte."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("boto3")

from sagemaker_debug_ext.store.backends.s3.kept import KeptRanges

CONTENT = bytes(range(100))
RANGES = st.tuples(st.sampled_from("ab"), st.integers(0, 110), st.integers(1, 110))


@given(st.lists(RANGES, max_size=20), st.integers(0, 300))
def test_ranges_when_asked_again_then_are_those_of_the_object(wanted, limit):
    """Whatever was kept before, a range that is found has the object's own bytes."""
    kept = KeptRanges(limit)
    for key, start, length in wanted:
        content = CONTENT[start : start + length]
        found = kept.find(key, start, length)
        assert found in (None, (content, len(CONTENT)))
        if found is None:
            kept.keep(key, start, content, len(CONTENT))


def test_range_when_within_a_kept_one_then_is_found():
    """Rules and views ask for the same tensors in different pieces."""
    kept = KeptRanges(1000)
    kept.keep("a", 10, CONTENT[10:60], 100)
    assert kept.find("a", 20, 5) == (CONTENT[20:25], 100)
    assert kept.find("a", 20, 50) is None
    assert kept.find("a", 20, 80) is None
    assert kept.find("b", 20, 5) is None


def test_range_when_beyond_the_limit_then_is_not_kept():
    """The limit holds for all objects together, and 0 keeps nothing."""
    kept = KeptRanges(120)
    kept.keep("a", 0, CONTENT, 100)
    kept.keep("b", 0, CONTENT, 100)
    assert kept.find("a", 0, 100) is not None
    assert kept.find("b", 0, 100) is None
    nothing = KeptRanges(0)
    nothing.keep("a", 0, CONTENT, 100)
    assert nothing.find("a", 0, 100) is None


def test_range_when_the_disk_is_full_then_is_not_kept(monkeypatch):
    """A disk that fills up costs requests, and nothing else."""
    kept = KeptRanges(1000)
    kept.keep("a", 0, CONTENT, 100)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", fail)
    kept.keep("b", 0, CONTENT, 100)
    monkeypatch.undo()
    kept.keep("c", 0, CONTENT, 100)
    assert kept.find("a", 0, 10) == (CONTENT[:10], 100)
    assert kept.find("b", 0, 10) is None
    assert kept.find("c", 0, 10) is None
