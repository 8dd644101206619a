"""Whatever pattern a trial's file holds, reading it ends, and other patterns find what Python finds."""

from __future__ import annotations

import os
import re
import time

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.writer import NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.trials import create_trial, pattern_search
from sagemaker_debug_ext.trials.pattern_search import PatternSearch, max_cheap_length, max_cost
from sagemaker_debug_ext.vocabulary import ModeKeys

CATASTROPHIC = [
    "(a+)+$",
    "(a|aa)+$",
    "(.*)*b",
    "^(([a-z])+.)+[A-Z]$",
    r"(a*)\1\1b",
    "a*" * 30 + "b",
    "(a|a)" * 40 + "b",
]
NAME = "a" * 60 + "!"


class TestMaxCost:
    @pytest.mark.parametrize("pattern", CATASTROPHIC)
    def test_max_cost_when_pattern_is_catastrophic_then_beyond_the_limit(self, pattern):
        """No such pattern is searched in the reader's process."""
        assert max_cost(pattern, len(NAME)) > pattern_search._MAX_COST

    @pytest.mark.parametrize(
        "pattern", ["^(?!gradient).*weight", "relu|conv.*output|bn.*mean", ".*/kernel:0", "^layer_[0-9]{2}", "a(b|c)d"]
    )
    def test_max_cost_when_pattern_is_ordinary_then_within_the_limit(self, pattern):
        """Patterns as hooks and users write them need no process of their own."""
        assert max_cost(pattern, 90) <= pattern_search._MAX_COST

    @given(
        pattern=st.text("ab.*+?|()[]^$\\d{2}", max_size=8).map(lambda body: body * 3),
        name=st.text("ab", min_size=12, max_size=24),
    )
    @settings(max_examples=300)
    @example(pattern="a*a*a*b", name="a" * 24)
    def test_max_cost_when_within_the_limit_then_python_searches_quickly(self, pattern, name):
        """The bound holds: the thread computes for a moment at most, whatever else the machine does."""
        if max_cost(pattern, len(name)) <= pattern_search._MAX_COST:
            try:
                compiled = re.compile(pattern)
            except (re.error, FutureWarning):
                return
            began = time.thread_time()
            compiled.search(name)
            assert time.thread_time() - began < 2


class TestPatternSearch:
    @pytest.fixture
    def refused(self):
        return []

    @pytest.fixture
    def search(self, refused, monkeypatch):
        monkeypatch.setattr(pattern_search, "_SEARCH_SECONDS", 0.1)
        pattern_search._worker.stop()
        yield PatternSearch(lambda pattern, reason: refused.append((pattern, reason)))
        pattern_search._worker.stop()

    @pytest.mark.parametrize("pattern", CATASTROPHIC)
    def test_search_when_pattern_is_catastrophic_then_ends_and_says_so_once(self, search, refused, pattern):
        """The pattern is given up for good, and others go on."""
        for name in (NAME, NAME + "?"):
            assert not search.search(pattern, name)
        assert len(refused) <= 1  # some versions of Python find an answer to some of them in time
        assert all("longer than" in reason for _, reason in refused)
        assert search.search("(a+)+b", "aab")

    def test_search_when_pattern_takes_for_ever_then_is_refused(self, search, refused):
        """The classic case is not found by chance."""
        assert not search.search("(a+)+$", NAME)
        assert refused == [("(a+)+$", "searching one name takes longer than 0.1 s")]

    @pytest.mark.parametrize("pattern", [r"(\w+\.)+weight$", r"([a-z])\1", "(?i)WEIGHT", "x|(y|w)(e|f)(i|j)+"])
    @pytest.mark.parametrize("name", ["layer.0.weight", "bias", "WEIGHT", "aa\n\udc80é"])
    def test_search_when_form_bounds_nothing_then_finds_what_python_finds(self, search, refused, pattern, name):
        """Patterns that only look expensive are searched all the same, and once for each name."""
        assert max_cost(pattern, len(name)) > pattern_search._MAX_COST
        expected = re.search(pattern, name) is not None
        assert search.search(pattern, name) is expected
        pattern_search._worker.stop()
        assert search.search(pattern, name) is expected
        assert pattern_search._worker._process is None
        assert refused == []

    @pytest.mark.parametrize("pattern", ["(?i)(", "(" * 5000, r"(a)\7", "(?:a{1,9})*" * 2000 + "("])
    def test_search_when_it_is_no_pattern_then_is_refused(self, search, refused, pattern):
        """What only the worker compiles is refused by the worker."""
        assert not search.search(pattern, "a")
        ((_, reason),) = refused
        assert "not a regular expression" in reason or "longer" in reason

    def test_search_when_patterns_together_take_too_long_then_all_are_refused(self, search, refused, monkeypatch):
        """Many patterns that each stay within their limit do not add up to hours."""
        monkeypatch.setattr(pattern_search, "_TRIAL_SECONDS", 0.15)
        for number in range(5):
            search.search(f"(a+)+{'$' * (number + 1)}", NAME)
        assert {pattern for pattern, _ in refused} == {f"(a+)+{'$' * (number + 1)}" for number in range(5)}
        assert not search.search("weight", "weight")
        assert "the patterns of this trial take longer than 0.15 s" in refused[-1][1]

    def test_search_when_no_process_can_be_started_then_is_refused(self, search, refused, monkeypatch):
        """Where processes are forbidden, such patterns find nothing, and that is said."""
        monkeypatch.setattr(pattern_search.sys, "executable", "/nonexistent/python")
        assert not search.search("(a+)+b", "aab")
        assert "no process can be started" in refused[0][1]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    def test_search_when_process_forks_then_child_has_its_own_worker(self, search):
        """The child neither waits for, nor mixes up the answers of, the worker of its parent."""
        assert search.search("(a+)+b", "aab")
        child = os.fork()
        if not child:
            os._exit(0 if search.search("(a+)+c", "aac") and not search.search("(a+)+d", "aac") else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert search.search("(a+)+e", "aae")


ODD = ["(", "(" * 490 + ")" * 490, "a{99999999999999999999}", "[[a]", 7, None, "(?i)" + "[\0-\U0010ffff]" * 2000]


def test_trial_when_collections_have_odd_and_catastrophic_patterns_then_only_they_are_lost(tmp_path, monkeypatch):
    """Opening the trial and asking for members ends; the sound pattern of the same collection finds its members."""
    monkeypatch.setattr(pattern_search, "_SEARCH_SECONDS", 0.2)
    pattern_search._worker.stop()
    writer = TrialWriter(LocalBackend(tmp_path))
    writer.write_collections(
        [{"name": "mine", "include_regex": [*ODD, *CATASTROPHIC, "weight"], "tensor_names": []}], 1
    )
    data = StepData(0, ModeKeys.TRAIN, 0)
    data.tensors += [NamedTensor(name, np.zeros(1), 0.0) for name in ("weight", NAME)]
    writer.write_step(data)
    writer.end()
    trial = create_trial(tmp_path)
    assert trial.tensor_names(collection="mine") == ["weight"]
    reasons = "\n".join(map(str, trial.problems()))
    assert "pattern '(a+)+$')" in reasons
    assert "not searched" in reasons
    pattern_search._worker.stop()


@given(st.sampled_from(["a", "a*b*", "(a|b)*", "a|b+|c", r"layer\d+\.(weight|bias)$", "x" * 2000]))
def test_cheap_length_is_the_last_one_below_the_limit(pattern):
    """So that it need not be computed for each name."""
    length = max_cheap_length(pattern)
    assert length == 0 or max_cost(pattern, length) <= pattern_search._MAX_COST
    assert length == (1 << 17) - 1 or max_cost(pattern, length + 1) > pattern_search._MAX_COST
