"""The promises that the hooks of all frameworks keep, as tests that each framework runs with its own training."""

from __future__ import annotations

import errno
import json
import logging
import os
import signal
import textwrap
import threading
import time
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys
from support.hooks import at_step
from support.tensorboard import read_board

REDUCTIONS = {
    "values": None,
    "reductions": ReductionConfig(reductions=["mean", "std", "prod"], norms=["l2"], save_shape=True),
}


class GatedBackend(LocalBackend):
    """A folder that takes no values before its gate is opened."""

    def __init__(self, path):
        super().__init__(path)
        self.gate = threading.Event()

    def write(self, key, parts):
        if key.startswith("events"):
            assert self.gate.wait(60)
        super().write(key, parts)


class SlowBackend(LocalBackend):
    """A folder that is slower than training, and notes how many steps ahead training is when values are written."""

    def __init__(self, path):
        super().__init__(path)
        self.hook = None
        self.leads = []

    def write(self, key, parts):
        if key.startswith("events"):
            self.leads.append(self.hook.step - len(self.leads))
            time.sleep(0.02)
        super().write(key, parts)


class StrangeError(Exception):
    """An error that no library raises."""


class UnreachableBackend(LocalBackend):
    """A folder that cannot be looked into once it is out of reach."""

    is_reachable = True

    def _fail(self, *args, **kwargs):
        if not self.is_reachable:
            raise StrangeError("out of reach")

    def list(self, *args, **kwargs):
        self._fail()
        return super().list(*args, **kwargs)

    def exists(self, *args, **kwargs):
        self._fail()
        return super().exists(*args, **kwargs)

    def write(self, *args, **kwargs):
        self._fail()
        super().write(*args, **kwargs)


def content_of(folder):
    """Return all files below a folder with their bytes."""
    return {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def errors_in(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


def bytes_in_nameless_files(folder):
    """Return how much this process holds in files of a folder that have no name."""
    sizes = [0]
    for link in Path("/proc/self/fd").iterdir():
        try:
            if os.readlink(link).startswith(f"{folder}/"):
                sizes.append(link.stat().st_size)
        except OSError:  # closed meanwhile
            continue
    return sum(sizes)


class HookContract:
    """What a script may rely on, whatever the framework.

    A subclass names a training of its framework and what the hook saves of it. The training has a hook only after
    `attach`. `train` and `evaluate` run so many steps, `spoil` makes later losses NaN, `parameter` is an array or
    tensor of its own, `result` returns all that training leaves as bytes, and `attachments` what is attached to the
    model and to the framework.
    """

    trainer: ClassVar[type[Any]]
    """Makes the training without arguments, always the same; can be imported in another process."""

    mode: ClassVar[ModeKeys] = ModeKeys.TRAIN
    """Mode of the steps of `train`."""

    loss: ClassVar[str]
    """A loss that the hook saves by default."""

    arrays: ClassVar[Mapping[str, Any]] = {"include_collections": ["weights", "gradients"]}
    """Arguments of the hook that save the same arrays in every step."""

    array: ClassVar[str]
    """One of these arrays."""

    histograms: ClassVar[Mapping[str, str]]
    """Each of these arrays that is a histogram in TensorBoard, with its tag there."""

    curves: ClassVar[Set[str]]
    """The numbers that the hook saves by default, `loss` among them, which TensorBoard shows as curves."""

    metrics: ClassVar[Set[str]]
    """Those of them that are metrics of the job."""

    observed: ClassVar[Mapping[str, Any]]
    """Arguments of the hook that save `observed_array`."""

    observed_array: ClassVar[str]
    """An array some of whose numbers are zero."""

    knows_end_of_step: ClassVar[bool] = False
    """Whether the hook can tell that the last step has ended before the next one begins."""

    changes_model: ClassVar[bool] = True
    """Whether anything is attached to the model or the framework while a hook captures."""

    read_board = staticmethod(read_board)
    """Reads the files for TensorBoard below a folder."""

    def everything(self):
        """Return arguments of the hook that save all there is."""
        return {"save_all": True}

    def break_capture(self, monkeypatch):
        """Replace a function that the hook needs and training does not by `fail`."""
        raise NotImplementedError

    @staticmethod
    def fail(*args, **kwargs):
        raise OSError("broken")

    # --- helpers ------------------------------------------------------------------------------------------------------

    def attach(self, hook):
        training = self.trainer()
        training.attach(hook)
        return training

    def assert_whole(self, trial):
        """Assert that every step has all tensors, scalars of the script excepted."""
        names = {name for name in trial.tensor_names() if not name.startswith("scalar/")}
        assert names >= {self.array, *self.curves}
        for step in trial.steps():
            assert set(trial.tensor_names(step=step)) >= names

    @pytest.fixture
    def run_script(self, forks, tmp_path):
        """Return a function that runs a script which has made `hook` and attached it to `training`."""

        def run(body, **options):
            setup = f"""
            import os, signal
            from support.hooks import at_step
            from {self.trainer.__module__} import {self.trainer.__name__} as Trainer
            hook = Trainer.hook_class({str(tmp_path / "out")!r}, save_config={{"save_interval": 1}}, **{options!r})
            training = Trainer()
            training.attach(hook)
            """
            script = tmp_path / "script.py"
            script.write_text(textwrap.dedent(setup) + textwrap.dedent(body))
            return forks.run_python(script)

        return run

    # --- training is the same -----------------------------------------------------------------------------------------

    @pytest.mark.parametrize("config", REDUCTIONS.values(), ids=REDUCTIONS)
    def test_result_when_everything_is_saved_then_is_the_same_to_the_bit(self, make_hook, open_trial, config):
        """Training with a hook leaves what it leaves without one, random numbers included."""
        without = self.trainer().train(6).evaluate(2).train(3).result()
        hook = make_hook(**self.everything(), reduction_config=config)
        captured = self.attach(hook).train(6).evaluate(2).train(3).result()
        trial = open_trial(hook)
        assert captured == without
        assert hook.failure is None
        assert len(trial.steps(self.mode)) == 9
        assert len(trial.tensor_names()) > 3

    def test_result_when_script_saves_as_well_then_is_the_same_to_the_bit(self, make_hook, open_trial):
        """Scalars and tensors that a script saves change nothing about training."""
        without = self.trainer().train(6).result()
        hook = make_hook(**self.everything())
        training = self.attach(hook)

        def save():
            hook.save_scalar("lr", 0.1)
            hook.save_tensor("mine", training.parameter)

        assert training.train(6, after_step=save).result() == without
        assert hook.failure is None
        trial = open_trial(hook)
        assert len(trial.tensor("scalar/lr").values()) == 6
        assert trial.tensor("mine").steps()

    # --- attach and detach --------------------------------------------------------------------------------------------

    def test_model_when_hook_is_closed_then_is_as_before(self, make_hook, open_trial):
        """Closing a hook removes all it has attached, and training goes on without it."""
        training = self.trainer().train(1)
        before, during = training.attachments(), []
        hook = make_hook(**self.everything())
        training.attach(hook)
        training.train(1, after_step=lambda: during.append(training.attachments()))
        hook.close()
        assert (during != [before]) == self.changes_model
        assert training.attachments() == before
        assert training.train(2).result() == self.trainer().train(1).train(1).train(2).result()
        assert len(open_trial(hook).steps()) == 1

    def test_model_when_hook_is_closed_in_the_middle_of_training_then_training_goes_on(self, make_hook, open_trial):
        """Closing a hook between two steps changes nothing about the steps that follow, and saves none of them."""
        hook = make_hook(**self.arrays)
        training = self.attach(hook)
        captured = training.train(6, after_step=at_step(3, hook.close)).result()
        assert captured == self.trainer().train(6).result()
        assert open_trial(hook).steps() == [0, 1, 2]
        assert training.attachments() == self.trainer().train(6).attachments()

    # --- strict or not ------------------------------------------------------------------------------------------------

    def test_failure_when_capture_breaks_then_training_ends_as_without_hook(self, make_hook, monkeypatch, caplog):
        """A hook that is not strict logs its first failure, stops saving, and leaves training alone."""
        without = self.trainer().train(4).result()
        hook = make_hook(strict=False, **self.everything())
        training = self.attach(hook)
        with monkeypatch.context() as broken:
            self.break_capture(broken)
            training.train(4)
        hook.close()
        assert training.result() == without
        assert str(hook.failure) == "broken"
        assert errors_in(caplog) == ["sagemaker_debug_ext: saving is switched off, training goes on: broken"]

    def test_failure_when_capture_breaks_and_hook_is_strict_then_is_raised(self, make_hook, monkeypatch, caplog):
        """A strict hook raises its failure into training."""
        training = self.attach(make_hook(strict=True, **self.everything()))
        with monkeypatch.context() as broken:
            self.break_capture(broken)
            with pytest.raises(OSError, match="broken"):
                training.train(1)
        assert errors_in(caplog) == []

    def test_failure_when_storage_is_out_of_reach_then_training_ends_as_without_hook(self, make_hook, tmp_path, caplog):
        """Errors of any class that the storage raises stay out of training."""
        backend = UnreachableBackend(tmp_path / "out")
        hook = make_hook(backend, strict=False, **self.arrays)
        training = self.attach(hook)
        backend.is_reachable = False
        assert training.train(4).result() == self.trainer().train(4).result()
        backend.is_reachable = True
        hook.close()
        assert isinstance(hook.failure, StrangeError)
        assert errors_in(caplog) == ["sagemaker_debug_ext: saving is switched off, training goes on: out of reach"]

    def test_failure_when_storage_is_out_of_reach_and_hook_is_strict_then_is_raised(self, make_hook, tmp_path):
        """A strict hook stops training in the step that cannot be saved."""
        backend = UnreachableBackend(tmp_path / "out")
        training = self.attach(make_hook(backend, strict=True, **self.arrays))
        backend.is_reachable = False
        with pytest.raises(StrangeError, match="out of reach"):
            training.train(1)
        backend.is_reachable = True

    @pytest.fixture
    def fill_disk(self, monkeypatch):
        """Return a function that lets so many bytes be written, and no more."""

        def fill(free_bytes):
            left = [free_bytes]
            real = os.pwritev

            def pwritev(descriptor, parts, start):
                if left[0] <= 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                content = b"".join(parts)[: left[0]]
                left[0] -= len(content)
                return real(descriptor, [content], start)

            monkeypatch.setattr(os, "pwritev", pwritev)

        return fill

    @pytest.mark.parametrize("share", [0, 0.01, 0.3, 0.7])
    def test_disk_when_it_fills_up_then_training_ends_as_without_hook_and_earlier_steps_are_there(
        self, make_hook, fill_disk, caplog, tmp_path, share
    ):
        """A full disk costs one error and the steps that follow; no half-written file is left."""
        without = self.trainer().train(12).result()
        with make_hook("whole", **self.arrays) as hook:
            self.attach(hook).train(12)
        fill_disk(int(share * sum(map(len, content_of(tmp_path / "whole").values()))))
        hook = make_hook(strict=False, **self.arrays)
        captured = self.attach(hook).train(12).result()
        hook.close()
        assert captured == without
        assert hook.failure.errno == errno.ENOSPC
        assert len(errors_in(caplog)) == 1
        assert "No space left on device" in caplog.text
        assert not list(tmp_path.rglob("*.tmp"))
        assert not (tmp_path / "out" / "claim.smd").exists()
        if share >= 0.3:
            trial, whole = create_trial(str(tmp_path / "out")), create_trial(str(tmp_path / "whole"))
            steps = trial.steps()
            assert 0 < len(steps) < 12
            assert steps == list(range(len(steps)))
            for step in steps:
                assert trial.tensor_names(step=step) == whole.tensor_names(step=step)
                for name in trial.tensor_names(step=step):
                    np.testing.assert_array_equal(trial.tensor(name).value(step), whole.tensor(name).value(step))

    @pytest.mark.parametrize("num_steps", [1, 4])
    def test_disk_when_it_is_full_and_hook_is_strict_then_is_raised(self, make_hook, fill_disk, num_steps):
        """What the writing thread meets is raised by a strict hook in a later step, or at the latest by close."""
        hook = make_hook(strict=True, **self.arrays)
        fill_disk(0)
        training = self.attach(hook)
        with pytest.raises(OSError, match="No space left on device"):
            training.train(num_steps)
            hook.close()

    # --- close --------------------------------------------------------------------------------------------------------

    def test_close_when_steps_and_scalars_wait_then_all_are_written_and_trial_has_ended(self, make_hook):
        """After close a trial holds every step, and readers know that no more will come."""
        hook = make_hook(**self.arrays)
        self.attach(hook).train(3)
        hook.export_collections()
        hook.save_scalar("final", 1.5)
        assert not create_trial(hook.out_dir).loaded_all_steps
        hook.close()
        trial = create_trial(hook.out_dir)
        assert trial.loaded_all_steps
        assert trial.steps() == [0, 1, 2]
        assert trial.tensor("scalar/final").value(2) == 1.5
        self.assert_whole(trial)

    def test_close_when_repeated_then_changes_nothing(self, make_hook, tmp_path, caplog):
        """Closing twice is harmless."""
        hook = make_hook()
        self.attach(hook).train(2)
        hook.close()
        before = content_of(tmp_path)
        hook.close()
        assert content_of(tmp_path) == before
        assert caplog.messages == []

    def test_calls_when_hook_is_closed_then_one_warning_says_so(self, make_hook, tmp_path, caplog):
        """Calls of a closed hook do nothing but warn, once; training with it goes on and saves nothing."""
        hook = make_hook(**self.arrays)
        training = self.attach(hook).train(2)
        hook.close()
        before = content_of(tmp_path)
        for _ in range(2):
            hook.save_scalar("late", 1)
            hook.save_tensor("late", np.ones(2))
            hook.write_recording()
            hook.export_collections()
        training.train(2)
        assert caplog.messages == [f"save_scalar() does nothing: the hook for {hook.out_dir!r} is closed"]
        assert content_of(tmp_path) == before
        assert training.result() == self.trainer().train(2).train(2).result()

    def test_block_when_left_then_hook_is_closed(self, make_hook):
        """A hook that is made for a block is closed at its end."""
        with make_hook() as hook:
            self.attach(hook).train(2)
        trial = create_trial(hook.out_dir)
        assert trial.loaded_all_steps
        assert trial.steps() == [0, 1]

    def test_close_when_in_a_job_then_the_platform_marks_the_end(self, make_hook, monkeypatch):
        """Inside a job a closed hook has written every step, and leaves the end to SageMaker."""
        monkeypatch.setenv("TRAINING_JOB_NAME", "job")
        hook = make_hook()
        self.attach(hook).train(2)
        hook.close()
        trial = create_trial(hook.out_dir)
        assert trial.steps() == [0, 1]
        assert not trial.loaded_all_steps

    def test_folder_when_its_trial_has_ended_then_is_refused(self, make_hook):
        """A second hook for a folder is refused before training if the trial there has ended."""
        with make_hook() as hook:
            self.attach(hook).train(1)
        with pytest.raises(SMDebugRuntimeError, match="has ended"):
            make_hook()

    # --- memory -------------------------------------------------------------------------------------------------------

    def test_memory_when_full_then_training_waits_and_nothing_is_lost(self, make_hook, open_trial, tmp_path):
        """By default training waits for the writer as soon as one step waits, and all steps are written."""
        backend = SlowBackend(tmp_path / "out")
        hook = make_hook(backend, memory_limit_bytes=1, **self.arrays)
        backend.hook = hook
        self.attach(hook).train(12)
        trial = open_trial(hook)
        assert trial.steps() == list(range(12))
        self.assert_whole(trial)
        assert hook.num_dropped_steps == 0
        assert max(backend.leads) <= 2

    def test_memory_when_full_and_steps_may_be_dropped_then_training_does_not_wait(
        self, make_hook, open_trial, tmp_path, caplog
    ):
        """With when_full="drop" whole steps are left out and counted, and those that are written are complete."""
        backend = GatedBackend(tmp_path / "out")
        hook = make_hook(backend, memory_limit_bytes=1, when_full="drop", **self.arrays)
        captured = self.attach(hook).train(12, after_step=at_step(12, backend.gate.set)).result()
        trial = open_trial(hook)
        assert captured == self.trainer().train(12).result()
        assert hook.num_dropped_steps >= 10
        assert len(trial.steps()) == 12 - hook.num_dropped_steps > 0
        self.assert_whole(trial)
        assert caplog.text.count("is left out") == 1

    @pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc")
    @pytest.mark.parametrize("config", REDUCTIONS.values(), ids=REDUCTIONS)
    def test_memory_when_full_and_steps_may_be_spilled_then_training_and_trial_are_the_same(
        self, make_hook, open_trial, tmp_path, monkeypatch, config
    ):
        """With when_full="spill" steps wait in a temporary file, and come out of it as they would have been written."""
        settings = {**self.everything(), "reduction_config": config, "statistics": ["nonfinite", "histogram"]}
        at_once = make_hook("at_once", **settings)
        without = self.attach(at_once).train(6).result()
        expected = open_trial(at_once)
        (tmp_path / "temporary").mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
        backend = GatedBackend(tmp_path / "out")
        hook = make_hook(backend, when_full="spill", memory_limit_bytes=1, **settings)
        num_waiting_bytes = []

        def look():
            num_waiting_bytes.append(bytes_in_nameless_files(tmp_path / "temporary"))
            backend.gate.set()

        captured = self.attach(hook).train(6, after_step=at_step(6, look)).result()
        trial = open_trial(hook)
        assert num_waiting_bytes[0] > 0
        assert captured == without
        assert hook.num_dropped_steps == 0
        assert trial.steps() == expected.steps() == list(range(6))
        assert trial.tensor_names() == expected.tensor_names()
        for name in trial.tensor_names():
            found, wanted = trial.tensor(name), expected.tensor(name)
            assert found.steps() == wanted.steps()
            for step in found.steps():
                np.testing.assert_equal(found.reduction_values(step), wanted.reduction_values(step))
                if config is None:
                    np.testing.assert_array_equal(found.value(step), wanted.value(step))

    # --- flight recorder ----------------------------------------------------------------------------------------------

    def test_recorder_when_all_is_well_then_no_step_is_written(self, make_hook, open_trial):
        """A flight recorder keeps its steps to itself until something asks for them."""
        hook = make_hook(flight_recorder=3, **self.arrays)
        self.attach(hook).train(6)
        trial = open_trial(hook)
        assert trial.steps() == []
        assert trial.loaded_all_steps

    def test_recorder_when_script_asks_then_last_steps_are_written(self, make_hook, open_trial):
        """Asked by the script, a flight recorder writes the last steps before the open one."""
        hook = make_hook(flight_recorder=3, **self.arrays)
        self.attach(hook).train(8)
        hook.write_recording()
        trial = open_trial(hook)
        assert trial.steps() == [4, 5, 6]
        assert self.array in trial.tensor_names(step=4)

    def test_recorder_when_a_loss_is_not_finite_then_last_steps_are_written(self, make_hook, open_trial, caplog):
        """A loss that is not finite makes a flight recorder write the last steps, that of the loss included."""
        hook = make_hook(flight_recorder=2, **self.arrays)
        training = self.attach(hook).train(4)
        training.spoil()
        training.train(1)
        trial = open_trial(hook)
        assert trial.steps() == [3, 4]
        assert self.array in trial.tensor_names(step=3)
        assert "a loss of step 4 is not finite" in caplog.text

    def test_recorder_when_block_ends_with_an_exception_then_last_steps_are_written(self, make_hook):
        """An exception that leaves the block of a hook makes its flight recorder write the last steps."""
        with pytest.raises(LookupError, match="no more data"), make_hook(flight_recorder=2, **self.arrays) as hook:
            self.attach(hook).train(4)
            raise LookupError("no more data")
        trial = create_trial(hook.out_dir)
        assert trial.steps() == [2, 3]
        assert trial.loaded_all_steps

    # --- what accompanies a trial -------------------------------------------------------------------------------------

    def test_metrics_file_when_in_a_job_then_has_losses_and_metrics_of_the_script(
        self, make_hook, tmp_path, monkeypatch
    ):
        """A job tells SageMaker its losses step by step, and the scalars that the script calls metrics."""
        monkeypatch.setenv("TRAINING_JOB_NAME", "job")
        monkeypatch.setenv("SAGEMAKER_METRICS_DIRECTORY", str(tmp_path / "metrics"))
        hook = make_hook()

        def save():
            hook.save_scalar("accuracy", 0.5, sm_metric=True)
            hook.save_scalar("lr", 0.1)

        self.attach(hook).train(3, after_step=save)
        hook.save_scalar("final", 1.0, sm_metric=True)
        hook.close()
        (path,) = (tmp_path / "metrics").iterdir()
        assert path.name == f"{os.getpid()}.json"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        found = {(line["MetricName"], line["IterationNumber"]): line["Value"] for line in lines}
        assert len(found) == len(lines)
        expected = dict.fromkeys([(f"scalar/accuracy_{self.mode.name}", step) for step in range(3)], 0.5)
        expected[f"scalar/final_{self.mode.name}", 2] = 1.0
        trial = create_trial(hook.out_dir)
        for name in self.metrics:
            for step, value in trial.tensor(name).values(self.mode).items():
                expected[f"{name}_{self.mode.name}", step] = pytest.approx(float(np.mean(value)))
        assert found == expected
        assert (f"{self.loss}_{self.mode.name}", 2) in found

    def test_tensorboard_when_exported_then_has_curves_and_histograms(self, make_hook, open_trial, tmp_path):
        """TensorBoard shows losses and scalars of each step as curves, and arrays as histograms."""
        hook = make_hook(tensorboard_dir=str(tmp_path / "board"), **self.arrays)
        self.attach(hook).train(3, after_step=lambda: hook.save_scalar("lr", 0.25))
        trial = open_trial(hook)
        board = self.read_board(tmp_path / "board" / self.mode.name)
        curves = {"scalar/lr": dict.fromkeys(range(3), 0.25)}
        for name in self.curves:
            values = trial.tensor(name).values()
            curves[name] = {step: pytest.approx(float(np.mean(values[step]))) for step in range(3)}
        assert board.scalars == curves
        assert board.histograms == {
            tag: {step: np.isfinite(trial.tensor(name).value(step)).sum() for step in range(3)}
            for name, tag in self.histograms.items()
        }
        assert hook.failure is None

    def test_tensorboard_when_no_folder_is_named_then_lies_beside_the_trial(self, make_hook):
        """Files for TensorBoard lie in the trial's folder unless another one is named."""
        hook = make_hook(export_tensorboard=True)
        self.attach(hook).train(2)
        hook.close()
        assert set(read_board(Path(hook.out_dir) / "tensorboard").scalars[self.loss]) == {0, 1}

    def test_checkpoints_when_a_job_resumes_then_steps_count_on(self, make_hook, open_trial, tmp_path, monkeypatch):
        """A job that was interrupted goes on with the step after its last checkpoint."""
        folder = tmp_path / "checkpoints"
        folder.mkdir()
        (tmp_path / "checkpoints.json").write_text(json.dumps({"LocalPath": str(folder)}))
        monkeypatch.setenv("CHECKPOINT_CONFIG_FILE_PATH", str(tmp_path / "checkpoints.json"))
        with make_hook("first") as first:
            training = self.attach(first).train(3)
            (folder / "model").write_bytes(b"weights")
            training.train(1)
        second = make_hook("second")
        self.attach(second).train(2)
        assert open_trial(second).steps() == [3, 4]

    def test_configuration_file_when_it_is_sagemakers_then_makes_the_hook(self, tmp_path):
        """A hook that is made from a job's configuration file saves what the file says."""
        document = {"LocalPath": str(tmp_path / "out"), "HookParameters": {"save_interval": "2"}}
        (tmp_path / "hook.json").write_text(json.dumps(document))
        with self.trainer.hook_class.create_from_json_file(str(tmp_path / "hook.json")) as hook:
            hook.strict = True
            self.attach(hook).train(5)
        trial = create_trial(str(tmp_path / "out"))
        assert trial.tensor(self.loss).steps() == [0, 2, 4]
        assert self.array not in trial.tensor_names()

    def test_dry_run_when_asked_for_then_nothing_but_collections_is_written(self, make_hook, open_trial, tmp_path):
        """A dry run runs everything, and saves no tensor."""
        hook = make_hook(dry_run=True, **self.arrays)
        self.attach(hook).train(2)
        trial = open_trial(hook)
        assert trial.steps() == []
        assert not (tmp_path / "out" / "events").exists()
        assert set(self.arrays["include_collections"]) <= set(trial.collections())

    def test_statistics_when_asked_for_then_are_those_of_the_values(self, make_hook, open_trial):
        """Statistics are saved beside values, and are what the values give."""
        hook = make_hook(statistics=["abs_max", "zero_fraction"], **self.observed)
        self.attach(hook).train(2)
        tensor = open_trial(hook).tensor(self.observed_array)
        saved, value = tensor.reduction_values(1), tensor.value(1)
        assert saved["max", True] == np.abs(value).max()
        assert saved["zero_fraction", False] == pytest.approx(np.mean(value == 0))

    # --- the end of a process -----------------------------------------------------------------------------------------

    def test_follow_when_the_hook_is_open_on_this_thread_then_ends_and_training_continues_the_trial(
        self, make_hook, tmp_path, caplog
    ):
        """A notebook evaluates between two trainings: nothing is waited for, and no step is lost."""
        hook = make_hook(**self.arrays)
        training = self.attach(hook).train(4)
        trial = create_trial(str(tmp_path / "out"))
        num_visible = 4 if self.knows_end_of_step else 3
        assert list(trial.follow()) == list(range(num_visible))
        assert "close the hook to end the trial" in caplog.text
        self.assert_whole(trial)
        training.train(3)
        hook.close()
        assert list(trial.follow()) == list(range(7))
        self.assert_whole(trial)

    def test_process_when_sigterm_ends_it_then_complete_steps_are_written_and_trial_has_ended(
        self, run_script, tmp_path
    ):
        """A process that SIGTERM ends leaves all steps that are complete, and ends as it would without hook."""
        report = run_script(
            """
            training.train(9, after_step=at_step(4, lambda: os.kill(os.getpid(), signal.SIGTERM)))
            print("went on")
            """,
            **self.arrays,
        )
        assert (report.returncode, report.stdout) == (-signal.SIGTERM, ""), report.stderr
        trial = create_trial(str(tmp_path / "out"))
        assert trial.steps() == list(range(4 if self.knows_end_of_step else 3))
        assert trial.loaded_all_steps
        self.assert_whole(trial)

    def test_sigterm_when_script_handles_it_then_steps_are_written_and_training_goes_on(self, make_hook, open_trial):
        """A script's own handler runs as without hook; by then the steps so far can be read."""
        readable, received = [], []
        before = signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
        try:
            hook = make_hook(**self.arrays)
            training = self.attach(hook)

            def terminate():
                os.kill(os.getpid(), signal.SIGTERM)
                trial = create_trial(hook.out_dir)
                readable.append((trial.steps(), trial.loaded_all_steps))

            training.train(6, after_step=at_step(4, terminate))
            trial = open_trial(hook)
        finally:
            signal.signal(signal.SIGTERM, before)
        assert received == [signal.SIGTERM]
        assert readable == [([0, 1, 2], False)]
        assert trial.steps() == list(range(6))
        assert training.result() == self.trainer().train(6).result()

    def test_process_when_it_ends_without_close_then_trial_has_ended_with_its_last_step(self, run_script, tmp_path):
        """The end of the interpreter closes a hook that the script has left open."""
        report = run_script("training.train(3)", **self.arrays)
        assert report.returncode == 0, report.stderr
        trial = create_trial(str(tmp_path / "out"))
        assert trial.loaded_all_steps
        assert trial.steps() == [0, 1, 2]
        self.assert_whole(trial)

    def test_process_when_it_ends_with_an_exception_then_recording_is_written(self, run_script, tmp_path):
        """An exception that ends the script makes the flight recorder write the last steps."""
        body = "training.train(4)\nraise LookupError('no more data')"
        report = run_script(body, flight_recorder=2, **self.arrays)
        assert report.returncode == 1
        assert "LookupError: no more data" in report.stderr
        assert create_trial(str(tmp_path / "out")).steps() == [2, 3]

    def test_folder_when_its_process_was_killed_then_the_next_one_counts_on(
        self, run_script, make_hook, open_trial, tmp_path
    ):
        """A hook goes on where a process that was killed has stopped; steps that were written stay."""
        report = run_script("training.train(4)\nhook.export_collections()\nos._exit(9)", **self.arrays)
        assert report.returncode == 9, report.stderr
        left = create_trial(str(tmp_path / "out"))
        num_steps = len(left.steps())
        assert left.steps() == list(range(num_steps))
        assert num_steps in (3, 4)
        assert not left.loaded_all_steps
        hook = make_hook(**self.arrays)
        self.attach(hook).train(2)
        trial = open_trial(hook)
        assert trial.steps() == list(range(num_steps + 2))
        assert trial.loaded_all_steps
