"""Which folders the hooks of this process are open for."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sagemaker_debug_ext.hooks import folders

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
    assert not folders.note_open(first, "here")
    assert not folders.note_open(second, "there")
    assert folders.note_open(second, "here")
    folders.note_closed(second, "here")
    del first
    assert not folders.note_open(second, "here")
    for folder in ("here", "there"):
        folders.note_closed(second, folder)


def test_note_closed_when_the_folder_is_unknown_then_does_nothing():
    """A hook may be closed twice."""
    folders.note_closed(Hook(), "nowhere")


def test_note_open_when_threads_do_so_at_once_then_only_one_is_alone(eager_threads):
    """Of hooks that are made for one folder at the same time all but one are told of another."""
    barrier = threading.Barrier(NUM_THREADS)

    def note(hook):
        barrier.wait()
        has_others = folders.note_open(hook, "contested")
        barrier.wait()
        folders.note_closed(hook, "contested")
        return has_others

    with ThreadPoolExecutor(NUM_THREADS) as pool:
        for _ in range(500):
            hooks = [Hook() for _ in range(NUM_THREADS)]
            assert sorted(pool.map(note, hooks)) == [False, *[True] * (NUM_THREADS - 1)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_note_open_when_forked_then_the_parents_hooks_are_no_others():
    """A child has hooks of its own, and can take note of them."""
    parents = Hook()
    folders.note_open(parents, "inherited")
    child = os.fork()
    if child == 0:  # must not return into pytest
        has_others: list[bool] = []
        try:
            hooks = Hook(), Hook()
            has_others = [folders.note_open(hook, "inherited") for hook in hooks]
        finally:
            os._exit(0 if has_others == [False, True] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    folders.note_closed(parents, "inherited")
