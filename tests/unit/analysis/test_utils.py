"""Holding trials still, and reading simple options."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.analysis.utils import no_refresh, parse_bool, parse_list_from_str, refresh
from sagemaker_debug_ext.errors import SMDebugValueError


class FakeTrial:
    def __init__(self, dynamic_refresh):
        self.dynamic_refresh = dynamic_refresh


@pytest.mark.parametrize(("context", "inside"), [(no_refresh, False), (refresh, True)])
@pytest.mark.parametrize("before", [True, False])
def test_refreshing_when_the_block_ends_then_is_as_before(context, inside, before):
    """The former value comes back, whatever it was."""
    trial = FakeTrial(before)
    with context(trial):
        assert trial.dynamic_refresh is inside
    assert trial.dynamic_refresh is before


@pytest.mark.parametrize("context", [no_refresh, refresh])
def test_refreshing_when_the_block_fails_then_is_as_before_too(context):
    """An error inside does not leave trials changed; each of several gets its own value back."""
    trials = [FakeTrial(True), FakeTrial(False)]
    with pytest.raises(KeyError), context(trials), context(trials[0]):
        raise KeyError
    assert [trial.dynamic_refresh for trial in trials] == [True, False]


@pytest.mark.parametrize(
    ("arg", "expected"), [(True, True), (False, False), ("true", True), ("False", False), (" TRUE ", True), (None, "d")]
)
def test_boolean_when_it_comes_as_text_then_read(arg, expected):
    """Booleans may be spelt out; None takes the default."""
    assert parse_bool(arg, "d") == expected


@pytest.mark.parametrize("arg", ["", "yes", "1", 1])
def test_boolean_when_it_is_something_else_then_refused(arg):
    """Nothing is guessed."""
    with pytest.raises(SMDebugValueError, match=r"must be true or false \(got "):
        parse_bool(arg, False)


@pytest.mark.parametrize(
    ("arg", "expected"),
    [("a, b,c", ["a", "b", "c"]), ("", []), (None, []), (["x", " y"], ["x", " y"]), (",a,,", ["a"])],
)
def test_list_when_it_comes_as_text_then_split(arg, expected):
    """Texts are split at commas, without blanks and empty items; lists stay as they are."""
    assert parse_list_from_str(arg) == expected
    assert parse_list_from_str("a;b", delimiter=";") == ["a", "b"]
