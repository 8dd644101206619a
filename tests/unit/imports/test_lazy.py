"""`lazy_names`: names of a module that are loaded once they are asked for."""

from __future__ import annotations

import sys
import types

import pytest

from sagemaker_debug_ext import vocabulary
from sagemaker_debug_ext._imports.lazy import FaceFinder, install_face_finder, lazy_names


@pytest.fixture
def module(monkeypatch):
    made = types.ModuleType("made")
    monkeypatch.setitem(sys.modules, "made", made)
    made.__getattr__ = lazy_names("made", {"ModeKeys": "vocabulary"})
    return made


def test_name_when_asked_for_then_comes_from_its_home_and_stays(module):
    """The second time nobody is asked."""
    assert "ModeKeys" not in vars(module)
    assert module.ModeKeys is vocabulary.ModeKeys
    assert vars(module)["ModeKeys"] is vocabulary.ModeKeys


@pytest.mark.parametrize("name", ["x", "__wrapped__"])
def test_name_when_there_is_none_then_says_so_as_python_does(module, name):
    """Tools ask any module for dunder names."""
    with pytest.raises(AttributeError, match=f"module 'made' has no attribute '{name}'$"):
        getattr(module, name)


def test_finder_when_installed_again_then_is_asked_once_and_last():
    """Modules with a file are found before it is asked."""
    install_face_finder()
    assert sys.meta_path.count(FaceFinder) == 1


def test_finder_when_asked_for_other_packages_then_knows_nothing():
    """A package whose name begins like ours is not ours."""
    assert FaceFinder.find_spec("sagemaker_debug_ext_plugins.core") is None
    assert FaceFinder.find_spec("smdebug.core") is None
