"""Importing this package under the name of the original, only when asked to."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import sagemaker_debug_ext.rules.rule
from sagemaker_debug_ext import compat, trials
from sagemaker_debug_ext.errors import SMDebugRuntimeError


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    """Hide a real package of that name, and leave nothing behind."""
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "smdebug"}
    yield
    compat.remove_smdebug_alias()
    sys.modules.update(hidden)


def test_inside_the_alias_the_modules_are_the_same():
    """Not copies: classes compare equal, and the modules keep their own names."""
    with compat.smdebug_alias():
        import smdebug
        import smdebug.rules.rule
        from smdebug import modes
        from smdebug.core.logger import get_logger
        from smdebug.trials import create_trial

        assert smdebug is sagemaker_debug_ext
        assert smdebug.rules.rule.Rule is sagemaker_debug_ext.rules.rule.Rule
        assert create_trial is trials.create_trial
        assert modes is sagemaker_debug_ext.modes
        assert get_logger().name == "sagemaker_debug_ext.smdebug"
    assert sagemaker_debug_ext.rules.rule.__spec__.name == "sagemaker_debug_ext.rules.rule"
    assert sagemaker_debug_ext.__spec__.name == "sagemaker_debug_ext"
    assert [name for name in sys.modules if name.split(".")[0] == "smdebug"] == []


def test_a_module_that_this_package_lacks_is_an_import_error():
    """Under the name that was asked for."""
    with compat.smdebug_alias(), pytest.raises(ModuleNotFoundError, match=r"smdebug\.no_such_module"):
        __import__("smdebug.no_such_module")


def test_an_alias_inside_an_alias_does_not_end_it():
    """Whoever installed it removes it."""
    compat.install_smdebug_alias()
    compat.install_smdebug_alias()
    with compat.smdebug_alias():
        pass
    __import__("smdebug.exceptions")
    compat.remove_smdebug_alias()
    compat.remove_smdebug_alias()
    assert "smdebug" not in sys.modules


def test_the_alias_does_not_replace_a_package_that_is_in_use(monkeypatch):
    """Two of them would not know each other's classes."""
    monkeypatch.setitem(sys.modules, "smdebug", ModuleType("smdebug"))
    with pytest.raises(SMDebugRuntimeError, match="before the package of that name is imported"):
        compat.install_smdebug_alias()
    monkeypatch.undo()


def test_nothing_happens_unasked():
    """Importing this package does not make the other importable."""
    program = "import sys, sagemaker_debug_ext.rules\nprint([f for f in sys.meta_path if 'Alias' in type(f).__name__])"
    printed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == "[]"
