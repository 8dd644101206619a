from __future__ import annotations

import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.hooks import registry
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
    assert registry.get_hook(BaseHook) is None


def test_get_hook_when_a_hook_was_made_then_returns_the_last(make_hook):
    """A hook becomes the process's hook when it is made."""
    make_hook("a")
    second = make_hook("b")
    assert registry.get_hook(BaseHook) is second


def test_get_hook_when_asked_to_create_then_reads_the_file_once(config_file):
    """The second call returns the hook that the first one created."""
    hook = registry.get_hook(BaseHook, config_file, create_if_not_exists=True)
    assert hook.out_dir.endswith("out")
    assert registry.get_hook(BaseHook, create_if_not_exists=True) is hook
    hook.close()


def test_get_hook_when_file_is_missing_then_is_none(tmp_path):
    """A script that runs outside a job goes on without a hook."""
    assert registry.get_hook(BaseHook, str(tmp_path / "none.json"), create_if_not_exists=True) is None


@pytest.mark.parametrize("value", ["False", "0", " no "])
def test_get_hook_when_switched_off_then_is_none(make_hook, monkeypatch, value):
    """One environment variable switches debugging off."""
    make_hook()
    monkeypatch.setenv("USE_SMDEBUG", value)
    assert registry.get_hook(BaseHook) is None


def test_get_hook_when_hook_is_of_another_kind_then_drops_it(make_hook):
    """A framework never gets another framework's hook."""
    make_hook()
    assert registry.get_hook(OtherHook) is None
    assert registry.get_hook(BaseHook) is None


def test_set_hook_when_it_is_no_hook_then_refuses():
    """Only hooks can be the process's hook."""
    with pytest.raises(SMDebugTypeError, match=r"hook must be a .*BaseHook"):
        registry.set_hook("hook", BaseHook)


def test_del_hook_when_there_is_one_then_forgets_it(make_hook):
    """Afterwards there is none, and the hook itself still works."""
    hook = make_hook()
    registry.del_hook()
    assert registry.get_hook(BaseHook) is None
    registry.set_hook(hook, BaseHook)
    assert registry.get_hook(BaseHook) is hook


NUM_THREADS = 4


class Hook:
    """Stands for a hook: something that can be told apart from others, which takes its time."""

    def __hash__(self):
        return sum(id(self) for _ in range(100))

    def __eq__(self, other):
        return self is other


@pytest.fixture
def eager_threads():
    """Have threads interrupt each other as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_note_open_when_another_hook_is_open_for_the_folder_then_says_so():
    """What counts is the folder; a hook that is closed, or gone, is no other one."""
    first, second = Hook(), Hook()
    assert not registry.mark_open(first, "here")
    assert not registry.mark_open(second, "there")
    assert registry.mark_open(second, "here")
    registry.mark_closed(second, "here")
    del first
    assert not registry.mark_open(second, "here")
    for folder in ("here", "there"):
        registry.mark_closed(second, folder)


def test_note_closed_when_the_folder_is_unknown_then_does_nothing():
    """A hook may be closed twice."""
    registry.mark_closed(Hook(), "nowhere")


def test_note_open_when_threads_do_so_at_once_then_only_one_is_alone(eager_threads):
    """Of hooks that are made for one folder at the same time all but one are told of another."""
    barrier = threading.Barrier(NUM_THREADS)

    def note(hook):
        barrier.wait()
        has_others = registry.mark_open(hook, "contested")
        barrier.wait()
        registry.mark_closed(hook, "contested")
        return has_others

    with ThreadPoolExecutor(NUM_THREADS) as pool:
        for _ in range(500):
            hooks = [Hook() for _ in range(NUM_THREADS)]
            assert sorted(pool.map(note, hooks)) == [False, *[True] * (NUM_THREADS - 1)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_note_open_when_forked_then_the_parents_hooks_are_no_others():
    """A child has hooks of its own, and can take note of them."""
    parents = Hook()
    registry.mark_open(parents, "inherited")
    child = os.fork()
    if child == 0:  # must not return into pytest
        has_others: list[bool] = []
        try:
            hooks = Hook(), Hook()
            has_others = [registry.mark_open(hook, "inherited") for hook in hooks]
        finally:
            os._exit(0 if has_others == [False, True] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    registry.mark_closed(parents, "inherited")
