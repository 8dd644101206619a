"""`_lazy.lazy_names`: names of a module that are loaded once they are asked for."""

from __future__ import annotations

import sys
import types

import pytest

from sagemaker_debug_ext import vocabulary
from sagemaker_debug_ext._lazy import lazy_names


@pytest.fixture
def module(monkeypatch):
    made = types.ModuleType("made")
    monkeypatch.setitem(sys.modules, "made", made)
    made.__getattr__ = lazy_names("made", {"ModeKeys": "vocabulary"}, {"Modes": "they are ModeKeys"})
    return made


def test_name_when_asked_for_then_comes_from_its_home_and_stays(module):
    """The second time nobody is asked."""
    assert "ModeKeys" not in vars(module)
    assert module.ModeKeys is vocabulary.ModeKeys
    assert vars(module)["ModeKeys"] is vocabulary.ModeKeys


@pytest.mark.parametrize(
    ("name", "message"),
    [("Modes", "module 'made' has no attribute 'Modes'; they are ModeKeys"), ("x", "has no attribute 'x'$")],
)
def test_name_when_there_is_none_then_says_so_as_python_does(module, name, message):
    """With a hint where there is one."""
    with pytest.raises(AttributeError, match=message):
        getattr(module, name)
