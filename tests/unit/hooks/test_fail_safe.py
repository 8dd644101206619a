"""Guards between a hook and the script: what reaches the script, and what is done although another part fails."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.hooks.fail_safe import run_all
from sagemaker_debug_ext.vocabulary import ModeKeys

CALLS = {
    "get_collection": lambda hook: hook.get_collection("new"),
    "get_collections": lambda hook: hook.get_collections(),
    "add_collection": lambda hook: hook.add_collection(Collection("new")),
    "set_mode": lambda hook: hook.set_mode(ModeKeys.EVAL),
    "save_scalar": lambda hook: hook.save_scalar("lr", 0.5),
    "save_tensor": lambda hook: hook.save_tensor("seen", np.ones(2)),
    "should_save_tensor_or_collection": lambda hook: hook.should_save_tensor_or_collection("loss", "losses"),
    "has_default_hook_configuration": lambda hook: hook.has_default_hook_configuration(),
    "step": lambda hook: hook.step,
    "write_recording": lambda hook: hook.write_recording(),
    "export_collections": lambda hook: hook.export_collections(),
    "close": lambda hook: hook.close(),
}
"""What scripts call or read, by name."""


class Broken:
    """A part of a hook all of whose methods fail."""

    def __getattr__(self, name):
        def fail(*_, **__):
            raise LookupError(f"{name} is broken")

        return fail


class TestRunAll:
    def test_run_all_when_parts_fail_then_the_others_run_and_the_first_error_is_raised(self):
        """A failing part leaves out no other."""
        done = []

        def fail(error):
            done.append(error.args[0])
            raise error

        with pytest.raises(KeyError, match="first"):
            run_all(
                lambda: done.append("begin"),
                lambda: fail(KeyError("first")),
                lambda: fail(OSError("second")),
                lambda: done.append("end"),
            )
        assert done == ["begin", "first", "second", "end"]

    def test_run_all_when_interrupted_then_ends_at_once(self):
        """Ctrl-C is for the script, which decides what comes next."""
        done = []

        def interrupt():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_all(lambda: done.append("begin"), interrupt, lambda: done.append("end"))
        assert done == ["begin"]


class TestScriptCalls:
    @pytest.mark.parametrize("name", CALLS)
    @pytest.mark.parametrize("part", ["_steps", "_collections", "_recorder", "_dispatcher"])
    def test_call_when_a_part_of_the_hook_is_broken_then_script_goes_on(self, make_hook, caplog, name, part):
        """An error of the hook is logged once and switches saving off, whatever the script calls."""
        hook = make_hook()
        hook.run_step({"loss": 0.5})
        sound = getattr(hook, part)
        setattr(hook, part, Broken())
        try:
            with caplog.at_level(logging.ERROR):
                CALLS[name](hook)
                CALLS[name](hook)
        finally:
            setattr(hook, part, sound)
        assert len(caplog.records) == (hook.failure is not None)
        assert "training goes on" in caplog.text or hook.failure is None

    def test_get_collection_when_the_hook_fails_then_returns_one_to_go_on_with(self, make_hook):
        """A script configures the collection it asked for; an answer of None would end it."""
        hook = make_hook()
        hook._collections = Broken()
        collection = hook.get_collection("chosen")
        collection.include("loss")
        assert collection.name == "chosen"

    def test_call_when_an_argument_is_wrong_then_raises_and_saving_stays_on(self, make_hook):
        """A wrong argument is a fault of the script, which hears of it; nothing is switched off."""
        hook = make_hook()
        with pytest.raises(SMDebugTypeError, match=r"name must be a text \(got 3\)"):
            hook.get_collection(3)
        with pytest.raises(SMDebugTypeError, match=r"timestamp must be a number of seconds \(got 'now'\)"):
            hook.save_scalar("lr", 0.5, timestamp="now")
        with pytest.raises(SMDebugValueError):
            hook.get_collection("unknown", create=False)
        assert (hook.failure, hook.run_step({"loss": 0.5})) == (None, True)

    def test_call_when_the_hook_is_strict_then_raises_what_failed(self, make_hook):
        """A strict hook hides nothing."""
        hook = make_hook(strict=True)
        hook._collections = Broken()
        with pytest.raises(LookupError, match="get is broken"):
            hook.get_collection("chosen")


class TestClose:
    @pytest.mark.parametrize("part", ["_detach", "_has_model", "_warn_of_shortfalls"])
    def test_close_when_a_part_fails_then_trial_is_written_and_ended(self, make_hook, trial, monkeypatch, part):
        """What was trained is kept even if the hook cannot be taken off the model."""
        hook = make_hook()
        hook.run_step({"loss": 0.5})

        def fail(*_):
            raise LookupError(part)

        monkeypatch.setattr(hook, part, fail)
        hook.close()
        assert [position[0] for position in trial.steps] == [0]
        assert trial.has_ended

    def test_close_when_interrupted_then_the_next_call_does_the_rest(self, make_hook, trial, monkeypatch):
        """Ctrl-C while a notebook closes its hook must not lose the steps that wait to be written."""
        hook = make_hook()
        hook.run_step({"loss": 0.5})
        detach = hook._detach

        def interrupt():
            monkeypatch.setattr(hook, "_detach", detach)
            raise KeyboardInterrupt

        monkeypatch.setattr(hook, "_detach", interrupt)
        with pytest.raises(KeyboardInterrupt):
            hook.close()
        assert not trial.has_ended
        hook.close()
        assert [position[0] for position in trial.steps] == [0]
        assert trial.has_ended
