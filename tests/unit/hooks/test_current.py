from __future__ import annotations

import json

import pytest

from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.hooks import current
from sagemaker_debug_ext.hooks.base import BaseHook


class OtherHook(BaseHook):
    """A hook of another framework."""


@pytest.fixture
def config_file(tmp_path):
    path = tmp_path / "hook.json"
    path.write_text(json.dumps({"LocalPath": str(tmp_path / "out")}))
    return str(path)


def test_get_hook_when_there_is_none_then_is_none():
    """Nothing is created unasked."""
    assert current.get_hook(BaseHook) is None


def test_get_hook_when_a_hook_was_made_then_returns_the_last(make_hook):
    """A hook becomes the process's hook when it is made."""
    make_hook("a")
    second = make_hook("b")
    assert current.get_hook(BaseHook) is second


def test_get_hook_when_asked_to_create_then_reads_the_file_once(config_file):
    """The second call returns the hook that the first one created."""
    hook = current.get_hook(BaseHook, config_file, create_if_not_exists=True)
    assert hook.out_dir.endswith("out")
    assert current.get_hook(BaseHook, create_if_not_exists=True) is hook
    hook.close()


def test_get_hook_when_file_is_missing_then_is_none(tmp_path):
    """A script that runs outside a job goes on without a hook."""
    assert current.get_hook(BaseHook, str(tmp_path / "none.json"), create_if_not_exists=True) is None


@pytest.mark.parametrize("value", ["False", "0", " no "])
def test_get_hook_when_switched_off_then_is_none(make_hook, monkeypatch, value):
    """One environment variable switches debugging off."""
    make_hook()
    monkeypatch.setenv("USE_SMDEBUG", value)
    assert current.get_hook(BaseHook) is None


def test_get_hook_when_hook_is_of_another_kind_then_drops_it(make_hook):
    """A framework never gets another framework's hook."""
    make_hook()
    assert current.get_hook(OtherHook) is None
    assert current.get_hook(BaseHook) is None


def test_set_hook_when_it_is_no_hook_then_refuses():
    """Only hooks can be the process's hook."""
    with pytest.raises(SMDebugTypeError, match=r"hook must be a .*BaseHook"):
        current.set_hook("hook", BaseHook)


def test_del_hook_when_there_is_one_then_forgets_it(make_hook):
    """Afterwards there is none, and the hook itself still works."""
    hook = make_hook()
    current.del_hook()
    assert current.get_hook(BaseHook) is None
    current.set_hook(hook, BaseHook)
    assert current.get_hook(BaseHook) is hook
