"""`when_imported`: told once about a module, whenever it comes."""

import importlib
import importlib.util
import sys

import pytest

from sagemaker_debug_ext._imports.callbacks import when_imported


@pytest.fixture
def module_name(tmp_path, monkeypatch):
    """A module that nobody has imported yet."""
    name = "watched_by_tests"
    (tmp_path / f"{name}.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield name
    sys.modules.pop(name, None)


def test_when_imported_later_then_told_at_the_end_of_the_import(module_name):
    """The module is complete when the function sees it, and the finder is gone afterwards."""
    told = []
    before = list(sys.meta_path)
    when_imported(module_name, lambda module: told.append(module.VALUE))
    assert told == []
    module = importlib.import_module(module_name)
    importlib.reload(module)
    assert told == [1]
    assert sys.meta_path == before


def test_when_imported_before_then_told_at_once(module_name):
    """Nothing is left to wait for."""
    module = importlib.import_module(module_name)
    before = list(sys.meta_path)
    told = []
    when_imported(module_name, told.append)
    assert told == [module]
    assert sys.meta_path == before


def test_when_several_wait_then_each_is_told_once(module_name):
    """One that asks twice is told once."""
    first, second = [], []
    append = first.append
    when_imported(module_name, append)
    when_imported(module_name, append)
    when_imported(module_name, second.append)
    module = importlib.import_module(module_name)
    assert (first, second) == ([module], [module])


def test_when_only_looked_for_then_not_told(module_name):
    """Asking whether a package is installed is no import, and the answer is the ordinary one."""
    told = []
    when_imported(module_name, told.append)
    spec = importlib.util.find_spec(module_name)
    assert spec is not None
    assert spec.loader.get_source(module_name) == "VALUE = 1\n"
    assert told == []
    importlib.import_module(module_name)
    assert len(told) == 1


def test_when_module_does_not_exist_then_import_fails_as_ever(monkeypatch):
    """Waiting for a package that is not installed changes nothing."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    when_imported("no_such_package_at_all", print)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_package_at_all")


def test_when_function_fails_then_so_does_the_import(module_name):
    """Who waits decides what may fail."""

    def fail(_):
        raise RuntimeError("told")

    when_imported(module_name, fail)
    with pytest.raises(RuntimeError, match="told"):
        importlib.import_module(module_name)
    assert module_name not in sys.modules
