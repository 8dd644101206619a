"""Calls of scripts: modes, collections, and custom scalars and tensors."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.config.saving import SaveConfig
from sagemaker_debug_ext.errors import (
    SMDebugTypeError,
    SMDebugValueError,
)
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL = ModeKeys.TRAIN, ModeKeys.EVAL


class TestScalars:
    def test_save_scalar_when_step_is_not_saved_then_scalar_still_is(self, make_hook, trial):
        """Every logged number is readable at its own step, whatever the interval."""
        hook = make_hook(save_config=SaveConfig(save_interval=3))
        hook.set_mode(TRAIN)
        for step in range(5):
            hook.run_step({"loss": 0.5})
            hook.save_scalar("lr", step / 10)
        hook.close()
        assert {step: float(tensors["scalar/lr"][0]) for (step, _, _), tensors in trial.steps.items()} == {
            step: step / 10 for step in range(5)
        }
        assert [("loss" in tensors) for tensors in trial.steps.values()] == [True, False, False, True, False]

    def test_save_scalar_when_called_twice_in_a_step_then_the_last_counts(self, make_hook, trial):
        """One step has one value of a name."""
        hook = make_hook()
        hook.run_step()
        hook.save_scalar("lr", 1.0)
        hook.save_scalar("lr", 2.0)
        hook.close()
        assert trial.steps == {(0, "GLOBAL", 0): {"scalar/lr": np.array([2.0])}}

    def test_save_scalar_when_before_the_first_step_then_belongs_to_it(self, make_hook, trial):
        """What is logged before training starts is read at step 0."""
        hook = make_hook()
        hook.save_scalar("lr", 1.0)
        hook.set_mode(TRAIN)
        hook.run_step({"loss": 0.5})
        hook.close()
        assert set(trial.steps[0, "TRAIN", 0]) == {"scalar/lr", "loss"}

    def test_save_scalar_when_there_is_no_step_at_all_then_is_at_step_zero(self, make_hook, trial):
        """Closing a hook never loses, and never waits for, a number."""
        hook = make_hook()
        hook.save_scalar("lr", 1.0)
        hook.close()
        assert list(trial.steps) == [(0, "GLOBAL", 0)]
        assert trial.has_ended

    def test_save_scalar_when_mode_was_changed_then_waits_for_a_step_of_it(self, make_hook, trial):
        """A number logged in a mode is stored in a step of that mode, if one comes next."""
        hook = make_hook()
        hook.set_mode(TRAIN)
        hook.run_step()
        hook.set_mode(EVAL)
        hook.save_scalar("accuracy", 0.5)
        hook.run_step()
        hook.close()
        assert trial.steps == {(1, "EVAL", 0): {"scalar/accuracy": np.array([0.5])}}

    @pytest.mark.parametrize("goes_on", [True, False])
    def test_save_scalar_when_no_step_of_the_mode_follows_then_is_in_the_open_one(self, make_hook, trial, goes_on):
        """A number is never lost, even if its mode is left without a step, or the job ends."""
        hook = make_hook()
        hook.set_mode(TRAIN)
        hook.run_step()
        hook.set_mode(EVAL)
        hook.save_scalar("accuracy", 0.5)
        if goes_on:
            hook.set_mode(TRAIN)
            hook.run_step()
        hook.close()
        assert trial.steps == {(0, "TRAIN", 0): {"scalar/accuracy": np.array([0.5])}}

    @pytest.mark.parametrize(
        ("value", "dtype", "shape"),
        [
            (1, "int64", (1,)),
            (0.5, "float64", (1,)),
            (True, "bool", (1,)),
            (np.float32(2), "float32", (1,)),
            (np.array([[3]]), "int64", (1, 1)),
            (np.array(4.0), "float64", ()),
        ],
    )
    def test_save_scalar_when_it_is_one_number_then_keeps_its_type(self, make_hook, trial, value, dtype, shape):
        """Numbers become arrays of shape (1,), arrays of one element stay as they are."""
        hook = make_hook()
        hook.run_step()
        hook.save_scalar("x", value)
        hook.close()
        (tensors,) = trial.steps.values()
        assert tensors["scalar/x"] == value
        assert (tensors["scalar/x"].dtype.name, tensors["scalar/x"].shape) == (dtype, shape)

    @pytest.mark.parametrize("value", [[1, 2], np.zeros(0), "text", None, b"x"])
    def test_save_scalar_when_it_is_not_one_number_then_refuses(self, make_hook, value):
        """Only a single number is a scalar."""
        with pytest.raises(SMDebugTypeError):
            make_hook().save_scalar("x", value)

    def test_save_scalar_when_time_is_given_then_it_is_stored(self, make_hook, out_dir):
        """The record carries the given time stamp."""
        hook = make_hook()
        hook.run_step()
        hook.save_scalar("x", 1, sm_metric=True, timestamp=1600000000.5)
        hook.close()
        (file,) = out_dir.glob("events/*/*.tfevents")
        assert np.float64(1600000000.5).tobytes() in file.read_bytes()

    @pytest.mark.parametrize("name", [3, 0.1, None])
    def test_save_scalar_when_the_name_is_no_text_then_is_refused(self, make_hook, name):
        """Such as where name and value have changed places."""
        with pytest.raises(SMDebugTypeError, match=rf"^name must be a text \(got {name!r}\)$"):
            make_hook().save_scalar(name, "lr")


class TestCustomTensors:
    def test_save_tensor_when_collections_are_listed_then_joins_all(self, make_hook, trial):
        """A tensor becomes a member of every collection named."""
        hook = make_hook()
        hook.save_tensor("x", [1.0, 2.0], ["first", "second"])
        hook.run_step()
        hook.close()
        assert trial.steps[0, "GLOBAL", 0]["x"].tolist() == [1, 2]
        members = {name: item["tensor_names"] for name, item in trial.collections().collections.items()}
        assert (members["first"], members["second"]) == (["x"], ["x"])

    def test_save_tensor_when_collection_is_not_due_then_waits_with_the_last_value(self, make_hook, trial):
        """The value that counts is the last one given before a saved step."""
        hook = make_hook()
        hook.get_collection("mine").save_config = SaveConfig(save_interval=3)
        for step in range(5):
            hook.save_tensor("x", step, "mine")
            hook.run_step()
        hook.close()
        assert {step: int(tensors["x"][0]) for (step, _, _), tensors in trial.steps.items()} == {0: 0, 3: 3}

    def test_save_tensor_when_given_after_the_last_capture_then_close_saves_it(self, make_hook, trial):
        """A value given at the end of a saved last step belongs to it."""
        hook = make_hook()
        hook.run_step()
        hook.save_tensor("x", 5)
        hook.close()
        assert trial.steps == {(0, "GLOBAL", 0): {"x": np.array([5])}}

    def test_save_tensor_when_reductions_are_configured_then_is_reduced(self, make_hook, trial):
        """A script's own tensors follow their collection's settings."""
        hook = make_hook(reduction_config=ReductionConfig(reductions=["max"]))
        hook.save_tensor("x", np.array([1, 5]))
        hook.save_tensor("words", ["a", "b"], "texts")
        hook.get_collection("texts").reduction_config = ReductionConfig(reductions=["max"], save_raw_tensor=True)
        hook.run_step()
        hook.close()
        (tensors,) = trial.steps.values()
        assert set(tensors) == {"smdebug/reductions/max/x", "words"}
        assert tensors["words"].tolist() == ["a", "b"]

    def test_save_tensor_when_value_is_changed_afterwards_then_the_old_one_is_saved(self, make_hook, trial):
        """What is kept until the next saved step is a copy."""
        hook, value = make_hook(), np.ones(2)
        hook.save_tensor("x", value)
        value[:] = 7
        hook.run_step()
        hook.close()
        assert trial.steps[0, "GLOBAL", 0]["x"].tolist() == [1, 1]

    def test_save_tensor_when_value_cannot_be_saved_then_warns_and_goes_on(self, make_hook, caplog):
        """A value of an unknown kind costs a warning."""
        hook = make_hook()
        hook.save_tensor("x", {"a": 1})
        hook.close()
        assert "tensor 'x' is not saved" in caplog.text
        assert hook.failure is None

    def test_save_tensor_when_collections_are_no_names_then_refuses(self, make_hook):
        """Collections are named by text."""
        with pytest.raises(SMDebugTypeError, match="collections_to_write must hold texts"):
            make_hook().save_tensor("x", 1, [5])


class TestModesAndCollections:
    @pytest.mark.parametrize("mode", ["train", 1, None])
    def test_set_mode_when_it_is_no_mode_then_refuses(self, make_hook, mode):
        """Modes are members of the enumeration; a name of one is told which member it is."""
        hint = r"did you mean modes\.TRAIN\?" if mode == "train" else r"got [1N]"
        with pytest.raises(SMDebugValueError, match=rf"mode must be one of ModeKeys\.TRAIN.*{hint}"):
            make_hook().set_mode(mode)

    def test_get_collections_when_hook_is_new_then_shows_the_built_in_ones(self, make_hook):
        """The framework's collections are there from the start."""
        assert sorted(make_hook().get_collections()) == ["all", "default", "gradients", "losses"]

    def test_has_default_hook_configuration_when_more_is_saved_then_is_false(self, make_hook):
        """Only the framework's own choice is the default."""
        assert make_hook("a").has_default_hook_configuration()
        assert not make_hook("b", include_collections=["gradients"]).has_default_configuration()

    def test_mode_and_step_when_steps_run_then_are_those_of_the_script(self, make_hook):
        """Scripts read both while they train."""
        hook = make_hook()
        assert (hook.mode, hook.step) == (ModeKeys.GLOBAL, -1)
        hook.set_mode(TRAIN)
        hook.run_step({"loss": 1.0})
        assert (hook.mode, hook.step) == (TRAIN, 0)
        hook.set_mode(EVAL)
        assert (hook.mode, hook.step) == (EVAL, 0)

    def test_get_collection_when_it_is_unknown_then_is_created_unless_forbidden(self, make_hook):
        """A misspelt name is an error only for scripts that ask for it."""
        hook = make_hook()
        with pytest.raises(SMDebugValueError, match="'mine'"):
            hook.get_collection("mine", create=False)
        collection = hook.get_collection("mine")
        assert collection.name == "mine"
        assert hook.get_collection("mine", create=False) is collection
        assert hook.get_collections()["mine"] is collection

    def test_collection_when_changed_between_steps_then_the_next_step_follows_it(self, make_hook, trial):
        """A collection that a script has asked for may change at any time."""
        hook = make_hook(include_collections=["mine"])
        hook.run_step({"loss": 1.0, "weight": 2.0})
        hook.get_collection("mine").include("weight")
        hook.run_step({"loss": 1.0, "weight": 3.0})
        hook.close()
        assert [set(tensors) for tensors in trial.steps.values()] == [{"loss"}, {"loss", "weight"}]

    def test_add_collection_when_it_is_none_then_refuses(self, make_hook):
        """The name of a collection is no collection."""
        with pytest.raises(SMDebugTypeError, match="'mine'"):
            make_hook().add_collection("mine")


class TestClosedHook:
    def test_calls_when_hook_is_closed_then_one_warning_says_so(self, make_hook, trial, caplog):
        """They do nothing: the trial has ended."""
        hook = make_hook()
        hook.run_step({"loss": 1.0})
        hook.close()
        assert caplog.messages == []
        hook.save_scalar("late", 1)
        hook.save_tensor("late", 1)
        assert caplog.messages == [f"save_scalar() does nothing: the hook for {hook.out_dir!r} is closed"]
        assert list(trial.steps) == [(0, "GLOBAL", 0)]

    def test_should_stop_when_no_rule_has_asked_then_is_false(self, make_hook):
        """Loops may always ask."""
        hook = make_hook()
        assert hook.should_stop is False
        hook.close()
        assert hook.should_stop is False
