"""Whether a hook works, and what the end of its process has it do."""

from __future__ import annotations

import atexit
import os
import signal
import threading

import pytest

from sagemaker_debug_ext.hooks.process.lifecycle import HookLifecycle


@pytest.fixture
def lock():
    return threading.RLock()


def make_lifecycle(lock, can_move=False):
    """Return the lifecycle of a hook; `moves` lists the processes that it has moved to."""
    moves = []
    lifecycle = HookLifecycle("folder", lock, lambda: can_move, lambda: moves.append(os.getpid()))
    lifecycle.moves = moves
    return lifecycle


@pytest.fixture
def lifecycle(lock):
    lifecycle = make_lifecycle(lock)
    yield lifecycle
    lifecycle.begin_close()
    lifecycle.detach()


@pytest.fixture
def received():
    """What the script's own handler of SIGTERM has received; the handler is set for the test."""
    numbers = []
    before = signal.signal(signal.SIGTERM, lambda number, _: numbers.append(number))
    yield numbers
    signal.signal(signal.SIGTERM, before)


def in_child(function):
    """Return what a function returns, as a boolean, in a forked child."""
    pid = os.fork()
    if pid == 0:
        status = 2
        try:
            status = int(bool(function()))
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, 1)
    return bool(status)


def is_free(lock):
    """Return whether another thread could take a lock."""
    found = []

    def take():
        found.append(lock.acquire(blocking=False))
        if found[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda lifecycle: None, True, id="new"),
        pytest.param(lambda lifecycle: lifecycle.switch_off(OSError(), is_strict=True), False, id="failed"),
        pytest.param(lambda lifecycle: setattr(lifecycle, "is_off", True), False, id="not a writer"),
        pytest.param(lambda lifecycle: lifecycle.begin_close(), False, id="closed"),
    ],
)
def test_is_active_when_state_changes_then_only_an_open_hook_that_works_is(lifecycle, change, expected):
    """All that saves asks this first."""
    change(lifecycle)
    assert lifecycle.is_active() == expected
    assert lifecycle.accepts("save_scalar") == expected


def test_is_active_when_in_a_forked_child_then_false(lifecycle):
    """A child of a data loader must neither write to its parent's trial nor close it."""
    assert not in_child(lifecycle.is_active)
    assert not in_child(lifecycle.use)
    assert not in_child(lifecycle.begin_close)
    assert lifecycle.use()
    assert not lifecycle.has_moved


def test_use_when_hook_was_not_used_before_a_fork_then_it_moves_to_each_child_that_uses_it(lock):
    """The copy in the child works and is closed there; the parent's goes on, and knows of it. Asking moves nothing."""
    lifecycle = make_lifecycle(lock, can_move=True)
    assert lifecycle.use()
    assert not lifecycle.moves
    assert not in_child(lambda: lifecycle.is_active() or lifecycle.begin_close())
    assert not lifecycle.has_moved
    for _ in range(2):
        assert in_child(lambda: lifecycle.use() and lifecycle.use() and lifecycle.moves == [os.getpid()])
        assert lifecycle.has_moved
    assert in_child(lambda: lifecycle.accepts("save_scalar") and lifecycle.begin_close())
    assert lifecycle.use()
    assert not lifecycle.moves


def test_is_active_when_asked_again_in_a_forked_child_then_the_child_warns_once(lifecycle, caplog):
    """A child that trains with its parent's hook would otherwise lose its tensors without a word."""

    def is_told():
        lifecycle.is_active()
        lifecycle.accepts("save_scalar")
        return len(caplog.messages) == 1 and "make the hook in the process that trains" in caplog.text

    assert in_child(is_told)
    assert not in_child(lambda: lifecycle.begin_close() or caplog.messages), "leaving is no use of the hook"
    assert lifecycle.is_active()
    assert not caplog.messages


def test_accepts_when_hook_is_closed_then_the_first_call_is_told_of(lifecycle, caplog):
    """A script that goes on with a closed hook is told once, not at every step."""
    lifecycle.begin_close()
    assert not lifecycle.accepts("save_scalar")
    assert not lifecycle.accepts("save_tensor")
    assert caplog.messages == ["save_scalar() does nothing: the hook for 'folder' is closed"]


@pytest.mark.parametrize("is_strict", [True, False])
def test_switch_off_when_errors_follow_each_other_then_the_first_is_kept(lifecycle, caplog, is_strict):
    """Later errors come of the first; a strict hook raises it instead of logging it."""
    errors = [OSError("disk full"), ValueError("closed file")]
    for error in errors:
        lifecycle.switch_off(error, is_strict)
    assert lifecycle.failure is errors[0]
    with pytest.raises(OSError, match="disk full") as raised:
        lifecycle.raise_failure()
    assert raised.value is errors[0]
    logged = ["sagemaker_debug_ext: saving is switched off, training goes on: disk full"]
    assert caplog.messages == ([] if is_strict else logged)


def test_raise_failure_when_there_is_none_then_nothing_is_raised(lifecycle):
    """A sound hook closes without an error, strict or not."""
    lifecycle.raise_failure()
    assert lifecycle.failure is None


def test_begin_close_when_called_again_then_false(lifecycle):
    """A script closes a hook that its process closes again at exit."""
    assert [lifecycle.begin_close() for _ in range(2)] == [True, False]


def test_attach_when_process_exits_then_hook_is_closed_unless_it_is_already(lock):
    """A child that leaves through the callbacks of `atexit` shows them."""

    def closes(is_closed_before):
        calls = []
        lifecycle = make_lifecycle(lock)
        lifecycle.attach(lambda: calls.append("close"), None)
        if is_closed_before:
            lifecycle.begin_close()
            lifecycle.detach()
        atexit._run_exitfuncs()
        return "close" in calls

    assert in_child(lambda: closes(is_closed_before=False))
    assert not in_child(lambda: closes(is_closed_before=True))


def test_attach_when_sigterm_comes_then_hook_finishes_under_its_lock_before_the_script(lifecycle, lock, received):
    """The script's handler decides whether the process ends, so the hook is told that it may go on."""
    seen = []

    lifecycle.attach(lambda: None, lambda ends_process: seen.append((ends_process, list(received), is_free(lock))))
    os.kill(os.getpid(), signal.SIGTERM)
    assert seen == [(False, [], False)]
    assert received == [signal.SIGTERM]
    assert is_free(lock)


@pytest.mark.parametrize("end", [HookLifecycle.begin_close, HookLifecycle.detach])
def test_attach_when_hook_has_ended_then_sigterm_is_the_scripts_alone(lifecycle, received, end):
    """A closed hook has nothing left to finish."""
    seen = []
    lifecycle.attach(lambda: None, seen.append)
    end(lifecycle)
    os.kill(os.getpid(), signal.SIGTERM)
    assert (seen, received) == ([], [signal.SIGTERM])


def test_attach_when_no_handler_is_wanted_then_none_is_set(lifecycle, received):
    """`handle_sigterm=False` leaves the signal alone."""
    before = signal.getsignal(signal.SIGTERM)
    lifecycle.attach(lambda: None, None)
    assert signal.getsignal(signal.SIGTERM) is before


class TestErrorExit:
    def test_has_error_exit_when_nothing_is_raised_then_false(self, lifecycle):
        """A hook that is closed in the course of a script ends well."""
        assert not lifecycle.has_error_exit()

    def test_has_error_exit_when_an_exception_is_on_its_way_then_true(self, lifecycle):
        """A hook that is closed in a `finally` sees the error behind it."""
        with pytest.raises(ZeroDivisionError):
            try:
                1 / 0  # noqa: B018 - raises
            finally:
                assert lifecycle.has_error_exit()

    def test_has_error_exit_when_hook_was_made_while_one_was_dealt_with_then_false(self, lock):
        """A script may train as its way of dealing with an error."""
        try:
            1 / 0  # noqa: B018 - raises
        except ZeroDivisionError:
            lifecycle = make_lifecycle(lock)
            assert not lifecycle.has_error_exit()

    def test_has_error_exit_when_block_was_left_by_one_then_true(self, lifecycle):
        """A ``with`` block knows how it was left."""
        lifecycle.has_raised = True
        assert lifecycle.has_error_exit()
