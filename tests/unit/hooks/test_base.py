from __future__ import annotations

import gc
import inspect
import json
import logging
import os
import weakref

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.config.saving import SaveConfig
from sagemaker_debug_ext.errors import (
    InvalidCollectionConfiguration,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.base import BaseHook
from sagemaker_debug_ext.hooks.output.trial_output import Worker
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL = ModeKeys.TRAIN, ModeKeys.EVAL


class TestSteps:
    def test_steps_when_interval_is_two_then_every_second_is_saved(self, make_hook, trial):
        """Saving is decided on the step within the mode, and files carry both numbers."""
        hook = make_hook(save_config=SaveConfig(save_interval=2))
        for mode, times in ((TRAIN, 3), (EVAL, 2), (TRAIN, 3), (EVAL, 2)):
            hook.set_mode(mode)
            for _ in range(times):
                hook.run_step({"loss": hook.step + 1})
        hook.close()
        assert list(trial.steps) == [(0, "TRAIN", 0), (2, "TRAIN", 2), (3, "EVAL", 0), (6, "TRAIN", 4), (8, "EVAL", 2)]
        assert trial.steps[6, "TRAIN", 4]["loss"] == 6

    def test_steps_when_no_mode_was_set_then_mode_is_global(self, make_hook, trial):
        """Without `set_mode`, steps are of mode GLOBAL."""
        hook = make_hook()
        hook.run_step({"loss": 1.0})
        hook.close()
        assert list(trial.steps) == [(0, "GLOBAL", 0)]

    def test_steps_when_one_begins_then_the_one_before_is_there(self, make_hook, trial):
        """A running job shows each step when the next one has begun."""
        hook = make_hook()
        hook.run_step({"loss": 1.0})
        assert trial.steps == {}
        hook.run_step({"loss": 2.0})
        hook.export_collections()
        assert list(trial.steps) == [(0, "GLOBAL", 0)]

    def test_steps_when_nothing_is_due_then_nothing_is_written(self, make_hook, trial):
        """A step without members of saved collections leaves no file."""
        hook = make_hook()
        hook.run_step({"weight": 1.0})
        hook.run_step({"loss": np.zeros((3, 0))})
        hook.close()
        assert trial.steps == {}

    def test_steps_when_collection_is_configured_then_its_settings_apply(self, make_hook, trial):
        """A collection's own intervals and reductions go before the hook's."""
        hook = make_hook(include_collections=["w"], reduction_config=ReductionConfig(reductions=["max"]))
        hook.add_collection(Collection("w", ["^w"], save_config=SaveConfig(save_interval=3)))
        for step in range(4):
            hook.run_step({"w0": [step, step + 1], "loss": 0.5})
        hook.close()
        assert {step: set(tensors) for (step, _, _), tensors in trial.steps.items()} == {
            0: {"smdebug/reductions/max/w0", "loss"},
            1: {"loss"},
            2: {"loss"},
            3: {"smdebug/reductions/max/w0", "loss"},
        }
        assert trial.steps[3, "GLOBAL", 3]["smdebug/reductions/max/w0"] == 4

    def test_steps_when_shape_is_wanted_then_it_is_saved_beside_the_value(self, make_hook, trial):
        """A tensor may have value, shape and reductions at one step."""
        config = ReductionConfig(norms=["l1"], save_raw_tensor=True, save_shape=True)
        hook = make_hook(include_regex=["w"], reduction_config=config)
        hook.run_step({"w:0": [[1.0, -2.0]]})
        hook.close()
        assert set(trial.steps[0, "GLOBAL", 0]) == {"w:0", "smdebug/reductions/l1/w"}

    def test_steps_when_everything_is_saved_then_all_offered_tensors_are_there(self, make_hook, trial):
        """`save_all` needs no collection."""
        hook = make_hook(save_all=True)
        hook.run_step({"anything": 1.0, "else": 2.0})
        hook.close()
        assert set(trial.steps[0, "GLOBAL", 0]) == {"anything", "else"}

    def test_steps_when_collection_changes_in_between_then_next_step_follows_it(self, make_hook, trial):
        """What a script does to a collection it asks for counts from the next step on."""
        hook = make_hook()
        hook.run_step({"loss": 0.0})
        hook.get_collection("losses").save_config = SaveConfig(end_step=0)
        hook.run_step({"loss": 1.0})
        hook.close()
        assert list(trial.steps) == [(0, "GLOBAL", 0)]

    def test_steps_when_value_is_changed_afterwards_then_the_old_one_is_saved(self, make_hook, trial):
        """What is captured is a copy."""
        hook, value = make_hook(), np.ones(3)
        hook.run_step({"loss": lambda: value})
        value[:] = 7
        hook.close()
        assert trial.steps[0, "GLOBAL", 0]["loss"].tolist() == [1, 1, 1]

    def test_steps_when_written_then_nothing_holds_their_tensors(self, make_hook):
        """A hook keeps nothing of a step that is over."""
        captured = []

        class Array(np.ndarray):
            """An array that can be watched."""

        hook = make_hook(MemoryBackend())

        def copy(value):
            copied = np.array(value).view(Array)
            captured.append(weakref.ref(copied))
            return copied

        hook._copy_value = copy
        hook.run_step({"loss": 1.0})
        hook.run_step()
        hook.export_collections()
        gc.collect()
        assert [reference() for reference in captured] == [None]

    @settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(
            st.sampled_from(["step"] * 4 + ["TRAIN", "EVAL", "scalar", "tensor", "collection", "cancel", "ask"]),
            max_size=30,
        ),
        st.integers(1, 7),
        st.sets(st.integers(0, 25), max_size=2),
    )
    def test_steps_when_nothing_is_due_then_passing_over_them_changes_nothing(
        self, make_hook, read_trial, calls, interval, save_steps
    ):
        """Whatever the script does between them."""

        def run(passes_over):
            backend = MemoryBackend()
            hook = make_hook(backend, save_config=SaveConfig(save_interval=interval, save_steps=sorted(save_steps)))
            if not passes_over:
                hook._skipped.skip_until = lambda *_: None
            asked = []
            for number, call in enumerate(calls):
                if call in ("TRAIN", "EVAL"):
                    hook.set_mode(ModeKeys[call])
                elif call == "step":
                    hook.run_step({"loss": number})
                elif call == "scalar":
                    hook.save_scalar("s", number)
                elif call == "tensor":
                    hook.save_tensor("own", np.full(2, number), "losses")
                elif call == "collection":
                    hook.get_collection("losses").save_config = SaveConfig(save_interval=interval + number % 3)
                elif call == "ask":
                    asked.append((hook.step, hook.should_save_tensor_or_collection("loss", "losses")))
                else:
                    hook._steps.cancel()
            hook.close()
            return read_trial(backend).steps, [*asked, hook.step]

        (found, asked), (expected, expected_asked) = run(passes_over=True), run(passes_over=False)
        assert asked == expected_asked
        np.testing.assert_equal(found, expected)

    @settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        modes=st.lists(st.sampled_from(list(ModeKeys)), max_size=12),
        interval=st.integers(1, 4),
        logged=st.sets(st.integers(0, 11)),
    )
    def test_steps_when_modes_and_scalars_are_any_then_agree_with_a_naive_loop(
        self, make_hook, read_trial, modes, interval, logged
    ):
        """Which files exist, and what is in them, follows from modes, interval and logged scalars alone."""
        backend = MemoryBackend()
        hook = make_hook(backend, save_config=SaveConfig(save_interval=interval))
        expected = {}
        for step, mode in enumerate(modes):
            hook.set_mode(mode)
            hook.run_step({"loss": step})
            within = step if mode is ModeKeys.GLOBAL else modes[:step].count(mode)
            tensors = {"loss": step} if within % interval == 0 else {}
            if step in logged:
                hook.save_scalar("s", step)
                tensors["scalar/s"] = step
            if tensors:
                expected[step, mode.name, within] = tensors
        hook.close()
        assert read_trial(backend).steps == expected


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "error", "text"),
        [
            ({"include_regex": [5]}, SMDebugTypeError, "include_regex must hold texts"),
            ({"include_regex": ["("]}, SMDebugValueError, "regular expressions"),
            ({"include_collections": "weights"}, SMDebugTypeError, "include_collections must be a list"),
            ({"save_config": 5}, SMDebugTypeError, "save_config must be"),
            ({"reduction_config": "mean"}, SMDebugTypeError, "reduction_config must be"),
        ],
    )
    def test_hook_when_argument_is_wrong_then_error_names_it(self, make_hook, arguments, error, text):
        """A wrong argument is refused when the hook is made."""
        with pytest.raises(error, match=text):
            make_hook(**arguments)

    def test_hook_when_there_is_no_folder_then_refuses(self, hook_class):
        """The output folder is required."""
        with pytest.raises(SMDebugTypeError, match="out_dir must be a path"):
            hook_class(None)

    def test_hook_when_trial_has_ended_then_says_so(self, make_hook, out_dir):
        """A folder with an ended trial is refused in clear words."""
        make_hook().close()
        with pytest.raises(SMDebugRuntimeError, match="out_dir must not hold a trial that has ended") as caught:
            make_hook()
        assert str(out_dir) in str(caught.value)

    @pytest.mark.parametrize("below", ["", "trial/here"])
    def test_hook_when_out_dir_cannot_be_a_folder_then_says_so(self, make_hook, tmp_path, below):
        """A file in the way is told when the hook is made, not at its first step."""
        file = tmp_path / "file"
        file.touch()
        with pytest.raises(SMDebugValueError, match=r"out_dir must be a folder .*file' is a file"):
            make_hook(file / below)

    def test_hook_when_trial_was_cut_off_then_goes_on_in_it(self, make_hook, trial, out_dir):
        """The folder of a crashed job can be used again."""
        first = make_hook()
        first.run_step({"loss": 1.0})
        first.close()
        (out_dir / "training_job_end.ts").unlink()
        second = make_hook()
        second.run_step({"loss": 2.0})
        second.close()
        assert trial.steps == {(0, "GLOBAL", 0): {"loss": 1.0}, (1, "GLOBAL", 1): {"loss": 2.0}}

    def test_include_regex_when_a_text_then_is_one_pattern(self, make_hook, trial):
        """A single pattern need not be put into a list."""
        hook = make_hook(include_regex="^relu")
        hook.run_step({"relu_output_0": 1.0, "other": 2.0})
        hook.close()
        assert "relu_output_0" in trial.steps[0, "GLOBAL", 0]
        assert "other" not in trial.steps[0, "GLOBAL", 0]

    def test_signature_when_a_subclass_passes_arguments_on_then_lists_them_all(self):
        """What a hook takes is seen from its signature, whoever handles it."""

        class Special(BaseHook):
            def __init__(self, *args, extra=1, **kwargs):
                super().__init__(*args, **kwargs)
                self.extra = extra

        class More(Special):
            pass

        for hook_class in (Special, More):
            names = list(inspect.signature(hook_class).parameters)
            assert names[:2] == ["out_dir", "export_tensorboard"]
            assert {"include_workers", "strict", "extra"} <= set(names)
            assert {"self", "args", "kwargs"}.isdisjoint(names)

    def test_profiler_calls_when_there_is_no_profiler_then_change_nothing(self, make_hook, read_trial):
        """Scripts that add to the profiler's timeline run as in a job without a profiler."""
        hook = make_hook()
        event = {"training_phase": "data", "op_name": "load", "phase": "X", "timestamp": 1.0, "duration": 2, "batch": 3}
        hook.record_trace_events(**event)
        assert not hook.should_save_dataloader_metrics("Dataloader")
        hook.close()
        assert read_trial(hook.backend).steps == {}

    def test_should_save_when_step_is_open_then_answers_for_it(self, make_hook):
        """Frameworks may ask whether to compute something at all."""
        hook = make_hook(save_config=SaveConfig(save_interval=2))
        assert not hook.should_save_tensor_or_collection("loss", "losses")
        hook.run_step()
        assert hook.should_save_tensor_or_collection("loss", "nothing")
        assert hook.should_save_tensor_or_collection("x", "losses")
        assert not hook.should_save_tensor_or_collection("x", "gradients")
        hook.run_step()
        assert not hook.should_save_tensor_or_collection("loss", "losses")


class TestCreateFromFile:
    def test_create_from_json_file_when_all_is_given_then_hook_follows_it(self, hook_class, trial, out_dir, tmp_path):
        """What the file says is what is saved."""
        document = {
            "LocalPath": str(out_dir),
            "HookParameters": {"save_interval": "2", "include_regex": "^x", "reductions": "max"},
            "CollectionConfigurations": [
                {
                    "CollectionName": "mine",
                    "CollectionParameters": {
                        "include_regex": "^w",
                        "save_interval": "3",
                        "reductions": "",
                        "save_raw_tensor": "true",
                        "save_histogram": "false",
                    },
                }
            ],
        }
        (tmp_path / "hook.json").write_text(json.dumps(document))
        hook = hook_class.create_from_json_file(str(tmp_path / "hook.json"))
        for _ in range(4):
            hook.run_step({"w": 1.0, "x": 2.0})
        hook.close()
        assert {step: sorted(tensors) for (step, _, _), tensors in trial.steps.items()} == {
            0: ["smdebug/reductions/max/x", "w"],
            2: ["smdebug/reductions/max/x"],
            3: ["w"],
        }
        assert trial.collections().collections["mine"]["save_histogram"] is False

    def test_create_from_json_file_when_tensorboard_is_wanted_then_is_written(self, hook_class, out_dir, tmp_path):
        """TensorBoard files are written beside the tensors."""
        content = {"LocalPath": str(out_dir), "HookParameters": {"export_tensorboard": "true"}}
        (tmp_path / "hook.json").write_text(json.dumps(content))
        hook = hook_class.create_from_json_file(str(tmp_path / "hook.json"))
        hook.save_scalar("lr", 0.5)
        hook.close()
        assert len(list((out_dir / "tensorboard" / "GLOBAL").iterdir())) == 1


class TestCollectionsFile:
    def test_collections_when_one_step_was_saved_then_file_is_there(self, make_hook, trial):
        """A running job can be opened after its first saved step."""
        hook = make_hook()
        hook.run_step({"loss": 1.0})
        hook.run_step({"other_loss": 1.0})
        hook._dispatcher.output.flush()
        assert trial.collections().collections["losses"]["tensor_names"] == ["loss"]
        hook.close()
        assert trial.collections().collections["losses"]["tensor_names"] == ["loss", "other_loss"]

    @pytest.mark.parametrize(
        ("given", "tensors"),
        [({}, {"output": 1.0}), ({"save_config": SaveConfig(start_step=9)}, {"loss": 1.0}), ({}, {})],
        ids=["pattern", "interval", "nothing"],
    )
    def test_close_when_nothing_was_saved_then_says_so(self, make_hook, caplog, given, tensors):
        """A trial without steps would else be found days later."""
        hook = make_hook(**given)
        for _ in range(3):
            hook.run_step(tensors)
        assert caplog.messages == []
        hook.close()
        [said] = caplog.messages
        assert said.startswith(
            f"sagemaker_debug_ext: no tensors were saved to {hook.out_dir} in 3 steps: none matched the due "
            "collections losses; check the save interval"
        )

    @pytest.mark.parametrize("given", [{"dry_run": True}, {"flight_recorder": 2}])
    def test_close_when_nothing_was_to_be_saved_then_says_nothing(self, make_hook, caplog, given):
        """A dry run saves nothing, a recorder only when asked."""
        hook = make_hook(**given)
        hook.run_step({"loss": 1.0})
        hook.close()
        assert caplog.messages == []

    def test_close_when_the_trial_goes_on_for_less_than_an_interval_then_says_nothing(self, make_hook, out_dir, caplog):
        """An earlier run has saved what was due."""
        for interval in (5, 500):
            hook = make_hook(save_config={"save_interval": interval})
            for _ in range(6):
                hook.run_step({"loss": 1.0})
            hook.close()
            (out_dir / "training_job_end.ts").unlink()
        assert "no tensors were saved" not in caplog.text

    def test_close_when_other_workers_write_then_says_nothing(self, make_hook, caplog):
        """Of a pipeline only the last stage has a loss."""
        hook = make_hook(include_workers="all")
        hook.worker = Worker("worker_0", 2)
        hook.run_step({})
        hook.close()
        assert caplog.messages == []

    def test_close_when_no_step_ran_then_says_nothing(self, make_hook, caplog):
        """There was nothing to save."""
        make_hook().close()
        assert caplog.messages == []

    def test_collections_when_no_step_ran_then_close_writes_file_and_end(self, make_hook, trial):
        """A hook that was merely made leaves an empty, ended trial."""
        make_hook().close()
        assert trial.has_ended
        assert trial.steps == {}
        file = trial.collections()
        assert file.num_workers == 1
        assert file.collections["losses"]["save_config"]["TRAIN"]["save_interval"] == 1

    def test_collections_when_dry_run_then_only_they_are_written(self, make_hook, trial, out_dir):
        """A dry run shows what would be saved."""
        hook = make_hook(dry_run=True)
        hook.run_step({"loss": 1.0})
        hook.close()
        assert trial.steps == {}
        assert not (out_dir / "events").exists()
        assert trial.collections().collections["losses"]["tensor_names"] == ["loss"]
        assert trial.has_ended


class TestWorkers:
    @pytest.fixture
    def run_worker(self, make_hook, hook_class):
        def run(rank, **arguments):
            worker = Worker(f"worker_{rank}", 2)
            hook = make_hook(hook_class=type("WorkerHook", (hook_class,), {"worker": worker}), **arguments)
            hook.run_step({"loss": float(rank)})
            return hook

        return run

    def test_workers_when_all_write_then_each_has_its_files(self, run_worker, trial, out_dir):
        """With `include_workers="all"` readers know how many to wait for."""
        hooks = [run_worker(rank, include_workers="all") for rank in range(2)]
        for hook in hooks:
            hook.close()
        assert sorted(path.name for path in out_dir.glob("index/*/*")) == [
            "000000000000_worker_0.json",
            "000000000000_worker_1.json",
        ]
        assert [trial.collections(f"worker_{rank}").num_workers for rank in range(2)] == [2, 2]

    @pytest.mark.parametrize("given", ["ALL", 3, None, ["all"]])
    def test_workers_when_neither_all_nor_one_is_asked_for_then_says_which_saves(self, make_hook, caplog, given):
        """The original takes anything for "one"; a misspelt "all" costs the data of all other workers."""
        assert make_hook(include_workers=given).include_workers == given
        assert caplog.messages == [
            f"include_workers should be 'all' or 'one' (got {given!r}): only the first worker saves"
        ]

    @pytest.mark.parametrize("include_workers", ["one", "ALL", ""])
    def test_workers_when_one_writes_then_it_is_the_first(self, run_worker, trial, include_workers):
        """Anything but `all` means the first worker, and readers wait for one."""
        for hook in [run_worker(rank, include_workers=include_workers) for rank in (1, 0)]:
            hook.close()
        assert trial.steps == {(0, "GLOBAL", 0): {"loss": 0.0}}
        assert trial.collections().num_workers == 1

    def test_workers_when_alone_then_folder_is_claimed_until_close(self, make_hook, out_dir):
        """One process writes to a folder; a second one is refused and trains on."""
        first, second = make_hook(), make_hook()
        first.run_step({"loss": 1.0})
        assert (out_dir / "claim.smd").exists()
        assert not second.run_step({"loss": 1.0})
        assert isinstance(second.failure, SMDebugRuntimeError)
        second.close()
        assert not (out_dir / "training_job_end.ts").exists()
        first.close()
        assert not (out_dir / "claim.smd").exists()

    def test_workers_when_another_hook_writes_then_the_constructor_refuses(self, make_hook, out_dir):
        """Not only the first step; and only as long as that hook writes."""
        first = make_hook()
        first.run_step({"loss": 1.0})
        with pytest.raises(SMDebugRuntimeError, match=r"another one of this process writes to .*use that hook"):
            make_hook()
        first.close()
        (out_dir / "training_job_end.ts").unlink()
        assert make_hook().run_step({"loss": 1.0})

    def test_workers_when_two_hooks_are_open_for_one_folder_then_the_second_warns(self, make_hook, caplog):
        """Before either has saved nothing is wrong so far, as where a cell of a notebook runs again; but it will be."""
        first = make_hook()
        assert "another hook" not in caplog.text
        make_hook("elsewhere")
        assert "another hook" not in caplog.text
        make_hook()
        assert f"another hook of this process is open for {first.out_dir!r}" in caplog.text

    def test_workers_when_the_first_hook_is_closed_then_the_second_does_not_warn(self, make_hook, out_dir, caplog):
        """A folder is free again once its hook has ended, and the trial is continued."""
        make_hook().close()
        (out_dir / "training_job_end.ts").unlink()
        assert make_hook().run_step({"loss": 1.0})
        assert "another hook" not in caplog.text

    def test_workers_when_forked_then_hooks_of_the_parent_are_not_meant(self, make_hook, monkeypatch, caplog):
        """A child process knows of its parent's hooks, which are not its own."""
        hook = make_hook()
        child = os.getpid() + 1
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: child)
            type(hook)(hook.out_dir, handle_sigterm=False).close()
        assert "another hook" not in caplog.text

    def test_workers_when_a_hook_was_never_used_then_it_leaves_the_trial_of_another_alone(self, make_hook, trial):
        """Hooks that a script has forgotten are closed when it ends, after those that it uses."""
        forgotten, used = make_hook(), make_hook(include_collections=["mine"])
        used.save_tensor("x", [1.0], "mine")
        used.run_step({"loss": 1.0})
        used.close()
        before = trial.collections()
        assert before.collections["mine"]["tensor_names"] == ["x"]
        forgotten.close()
        assert forgotten.failure is None
        assert trial.collections() == before


def _step_and_close_in_child(hook):
    """Save a step in a forked child, and return the child's status."""
    pid = os.fork()
    if pid == 0:  # must not return into pytest
        try:
            hook.run_step({"loss": 1.0})
            hook.close()
        finally:
            os._exit(0)
    return os.waitpid(pid, 0)[1]


class TestClose:
    def test_close_when_called_twice_then_does_nothing(self, make_hook, trial):
        """Closing again is harmless."""
        hook = make_hook()
        hook.close()
        hook.close()
        assert trial.has_ended

    def test_close_when_inside_a_job_then_platform_marks_the_end(self, make_hook, trial, monkeypatch):
        """With TRAINING_JOB_NAME set, whatever its value, there is no end marker."""
        monkeypatch.setenv("TRAINING_JOB_NAME", "")
        hook = make_hook()
        hook.run_step({"loss": 1.0})
        hook.close()
        assert not trial.has_ended
        assert len(trial.steps) == 1

    def test_close_when_done_then_later_calls_change_nothing(self, make_hook, trial):
        """A closed hook takes no more values and counts no more steps."""
        hook = make_hook()
        hook.run_step({"loss": 1.0})
        hook.close()
        hook.save_scalar("x", 1)
        hook.save_tensor("y", 1)
        hook.export_collections()
        assert hook.run_step({"loss": 2.0}) is False
        assert trial.steps == {(0, "GLOBAL", 0): {"loss": 1.0}}

    def test_close_when_used_as_context_then_is_called_even_on_error(self, make_hook, trial):
        """A `with` block ends the trial, whatever happens in it."""
        with pytest.raises(ZeroDivisionError), make_hook() as hook:
            hook.run_step({"loss": 1.0})
            raise ZeroDivisionError
        assert trial.has_ended
        assert len(trial.steps) == 1

    def test_close_when_done_then_nothing_holds_the_hook(self, hook_class, out_dir):
        """A closed hook is kept alive neither by the interpreter's exit nor by a thread."""
        hook = hook_class(out_dir)
        hook.run_step({"loss": 1.0})
        hook.close()
        registry.del_hook()
        reference = weakref.ref(hook)
        del hook
        gc.collect()
        assert reference() is None

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    def test_close_when_in_a_forked_process_then_leaves_the_trial_alone(self, make_hook, trial):
        """Children inherit a hook that is in use, and neither write nor end the trial."""
        hook = make_hook()
        hook.run_step({"loss": 2.0})
        assert _step_and_close_in_child(hook) == 0
        assert not trial.has_ended
        hook.close()
        assert trial.steps == {(0, "GLOBAL", 0): {"loss": 2.0}}

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    def test_close_when_a_forked_child_has_used_the_hook_first_then_trial_is_the_childs(self, make_hook, trial, caplog):
        """A script may make the hook, and train in a process that it forks; of several such children one writes."""
        hook = make_hook(include_collections=["mine"])
        assert _step_and_close_in_child(hook) == 0
        assert trial.has_ended
        written = trial.collections()
        assert _step_and_close_in_child(hook) == 0
        hook.close()
        assert hook.failure is None
        assert trial.steps == {(0, "GLOBAL", 0): {"loss": 1.0}}
        assert trial.collections() == written
        assert not caplog.messages, "the parent has nothing to warn of"


class TestFailures:
    def test_failure_when_disk_is_full_then_logs_once_and_training_goes_on(
        self, make_hook, read_trial, failing_backend, caplog
    ):
        """After a failed write saving is off; what was written before stays whole."""
        backend = failing_backend(budget=5)
        hook = make_hook(backend)
        for step in range(20):
            hook.run_step({"loss": step})
            hook.save_scalar("x", step)
        hook.close()
        assert hook.failure.errno == 28
        errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
        assert len(errors) == 1
        assert "saving is switched off, training goes on" in caplog.text
        assert list(read_trial(backend).steps) == [(0, "GLOBAL", 0), (1, "GLOBAL", 1)]

    def test_failure_when_strict_then_is_raised_into_training(self, make_hook, failing_backend):
        """A strict hook lets the script know, at the next step or at the end."""
        hook = make_hook(failing_backend(budget=0), strict=True)
        hook.run_step({"loss": 1})
        with pytest.raises(OSError, match="No space left"):
            hook.close()

    def test_failure_when_strict_and_writing_failed_then_next_step_raises(self, make_hook, failing_backend):
        """Training stops at the first step after the failure."""
        hook = make_hook(failing_backend(budget=0), strict=True)
        hook.run_step({"loss": 1})
        hook.run_step({"loss": 1})
        hook._dispatcher.output.flush()
        with pytest.raises(OSError, match="No space left"):
            hook.run_step({"loss": 1})

    def test_failure_when_capturing_breaks_then_training_goes_on(self, make_hook, read_trial, caplog):
        """Whatever goes wrong inside the hook stays inside."""
        backend = MemoryBackend()
        hook = make_hook(backend)
        hook.run_step({"loss": 1.0})

        def explode():
            raise ZeroDivisionError("inside the hook")

        assert hook.run_step({"loss": explode}) is None
        assert hook.run_step({"loss": 3.0}) is False
        hook.close()
        assert isinstance(hook.failure, ZeroDivisionError)
        assert caplog.text.count("training goes on: inside the hook") == 1
        assert list(read_trial(backend).steps) == [(0, "GLOBAL", 0)]
        assert read_trial(backend).has_ended

    def test_failure_when_collection_selects_nothing_then_the_others_are_saved(self, make_hook, trial, caplog):
        """A collection that was configured wrongly is named and left out."""
        hook = make_hook(include_collections=["mine"])
        hook.run_step({"loss": 1.0})
        hook.close()
        assert hook.failure is None
        assert "collection 'mine' selects no tensor" in caplog.text
        assert set(trial.steps[0, "GLOBAL", 0]) == {"loss"}

    def test_failure_when_strict_and_collection_selects_nothing_then_first_step_raises(self, make_hook):
        """A strict hook takes the mistake for an error."""
        with pytest.raises(InvalidCollectionConfiguration, match="mine"):
            make_hook(include_collections=["mine"], strict=True).run_step()

    def test_memory_when_limit_is_tiny_then_everything_is_still_written(self, make_hook, trial):
        """A small limit slows training down and loses nothing."""
        hook = make_hook(memory_limit_bytes=1)
        for step in range(10):
            hook.run_step({"loss": np.full(100, step)})
        hook.close()
        assert [int(tensors["loss"][0]) for tensors in trial.steps.values()] == list(range(10))


class TestShortfalls:
    def test_close_when_a_pattern_matched_nothing_then_says_so_once(self, make_hook, out_dir, caplog):
        """A misspelt pattern would else be found when the trial is analysed."""
        hook = make_hook(include_regex=["^fc1", "^fc9"], include_collections=["gradients"])
        for _ in range(3):
            hook.run_step({"loss": 1.0, "fc1": 1.0})
        hook.close()
        hook.close()
        [said] = caplog.messages
        assert said == (
            f"sagemaker_debug_ext: not everything was saved to {out_dir}: pattern '^fc9' of collection 'default' "
            "matched no tensor; collection 'gradients' stayed empty"
        )

    def test_close_when_losses_came_from_nowhere_then_says_how_to_save_them(self, make_hook, hook_class, caplog):
        """Most rules need losses."""
        hook = make_hook(include_regex=["^fc"])
        hook.run_step({"fc": 1.0})
        hook.close()
        [said] = caplog.messages
        assert said.endswith(f"collection 'losses' stayed empty: {hook_class.loss_hint}")

    @pytest.mark.parametrize("given", [{"save_config": SaveConfig(start_step=1)}, {}], ids=["not due", "evaluation"])
    def test_close_when_a_collection_was_not_due_or_nothing_was_trained_then_says_nothing(
        self, make_hook, caplog, given
    ):
        """A script that evaluates a model has no loss to register."""
        hook = make_hook(include_collections=["fc"])
        hook.add_collection(Collection("fc", ["fc9"] if given else ["fc"], **given))
        if not given:
            hook.set_mode(EVAL)
        hook.run_step({"loss": 1.0} if given else {"fc": 1.0})
        hook.close()
        assert caplog.messages == []

    def test_close_when_there_was_no_model_then_says_how_to_give_it_one(
        self, make_hook, hook_class, caplog, monkeypatch
    ):
        """A script may create a hook and forget to attach it."""
        monkeypatch.setattr(hook_class, "_has_model", lambda _: False)
        hook = make_hook()
        hook.close()
        assert caplog.messages == [
            f"sagemaker_debug_ext: the hook for {hook.out_dir} has seen no model: {hook_class.model_hint}"
        ]
