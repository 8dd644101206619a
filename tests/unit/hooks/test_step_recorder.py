"""What is recorded of a value with the open step."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.config.saving import SaveConfig
from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.capture.counters import StepPosition
from sagemaker_debug_ext.hooks.capture.pending import Scalar
from sagemaker_debug_ext.hooks.capture.save_plan import SaveDecision
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, StepBuffer
from sagemaker_debug_ext.hooks.framework import FrameworkAdapter
from sagemaker_debug_ext.hooks.step_recorder import StepRecorder
from sagemaker_debug_ext.vocabulary import ModeKeys

_EVERY_STEP = SaveConfig(save_interval=1)
VALUE = np.array([[3.0, -4.0]])


class Arrays(FrameworkAdapter):
    """A framework of NumPy arrays that counts its copies."""

    def __init__(self, statistics=(), export_tensorboard=False):
        self.statistics = statistics
        self.export_tensorboard = export_tensorboard
        self.num_copies = 0

    def _copy_value(self, value):
        self.num_copies += 1
        return super()._copy_value(value)


@pytest.fixture
def step():
    return StepBuffer(StepPosition(0, ModeKeys.TRAIN, 0))


@pytest.fixture
def collections():
    return CollectionSet(Collection, {"w": ("^w",), "losses": ("loss",)}, saved=["w", "losses"])


@pytest.fixture
def make_recorder(collections):
    """Return a function that makes a recorder for an adapter."""

    def make(adapter=None, has_metrics=False):
        return StepRecorder(adapter or Arrays(), collections, 1 << 20, has_metrics)

    return make


def decide(*collections, value=True, shape=False, reductions=()):
    return SaveDecision(collections or ("w",), value, shape, tuple(reductions))


def values_of(step):
    return {name: captured.value.tolist() for name, captured in step.tensors.items()}


@pytest.mark.parametrize(
    ("decision", "tensors", "shapes"),
    [
        pytest.param(decide(), {"w": [[3, -4]]}, {}, id="value"),
        pytest.param(decide(value=False, shape=True), {}, {"w": (1, 2)}, id="shape"),
        pytest.param(
            decide(value=False, reductions=[Reduction("max"), Reduction("l2")]),
            {"smdebug/reductions/max/w": 3, "smdebug/reductions/l2/w": 5},
            {},
            id="reductions",
        ),
        pytest.param(
            decide(shape=True, reductions=[Reduction("min", abs=True)]),
            {"w": [[3, -4]], "smdebug/reductions/abs_min/w": 3},
            {"w": (1, 2)},
            id="all",
        ),
    ],
)
def test_save_when_decided_then_that_and_nothing_else_is_recorded(make_recorder, step, decision, tensors, shapes):
    """The decision names what a step holds of a tensor."""
    make_recorder().save(step, "w", VALUE, decision)
    assert values_of(step) == tensors
    assert step.shapes == shapes
    assert step.metrics == set()
    assert step.summaries == {}


def test_save_when_value_changes_later_then_what_was_recorded_stays(make_recorder, step):
    """Training goes on with its arrays while a step waits to be written."""
    value = VALUE.copy()
    make_recorder().save(step, "w", value, decide())
    value[:] = 0
    assert values_of(step) == {"w": [[3, -4]]}


def test_save_when_there_is_a_copy_then_it_is_recorded_and_no_other_is_taken(make_recorder, step):
    """It keeps the time at which it was taken."""
    adapter, taken = Arrays(), Captured(VALUE.copy(), 12.5)
    make_recorder(adapter).save(step, "w", VALUE, decide(reductions=[Reduction("max")]), taken)
    assert step.tensors["w"] is taken
    assert {captured.wall_time for captured in step.tensors.values()} == {12.5}
    assert adapter.num_copies == 0


def test_save_when_value_is_not_wanted_then_no_copy_is_taken(make_recorder, step):
    """Copies cost more than all else that a hook does."""
    adapter = Arrays(export_tensorboard=False)
    make_recorder(adapter).save(step, "w", VALUE, decide(value=False, shape=True))
    assert adapter.num_copies == 0


def test_save_when_tensor_is_empty_then_step_and_collections_do_not_have_it(make_recorder, step, collections):
    """An empty tensor has no values to save, and rules could not read it."""
    make_recorder().save(step, "w", np.zeros((3, 0)), decide(shape=True))
    assert not step
    assert collections.get("w").tensor_names == set()


def test_save_when_recorded_then_its_collections_know_the_name(make_recorder, step, collections):
    """The collections file lists the members that were saved."""
    make_recorder().save(step, "w_1", VALUE, decide("losses", "w"))
    assert collections.get("w").tensor_names == collections.get("losses").tensor_names == {"w_1"}


@pytest.mark.parametrize(("collection", "expected"), [("w", True), ("losses", False)])
def test_save_when_hook_has_statistics_then_arrays_get_them_and_scalars_do_not(
    make_recorder, step, collection, expected
):
    """A statistic of a single number says nothing."""
    make_recorder(Arrays(statistics=("zero_fraction",))).save(step, "x", VALUE, decide(collection))
    assert [name for name in step.tensors if name != "x"] == (
        ["smdebug/reductions/zero_fraction/x"] if expected else []
    )


@pytest.mark.parametrize(
    ("has_metrics", "collection", "expected"), [(True, "losses", {"x"}), (True, "w", set()), (False, "losses", set())]
)
def test_save_when_job_has_a_metrics_file_then_losses_are_metrics(
    make_recorder, step, has_metrics, collection, expected
):
    """SageMaker shows the losses of a job, not its weights."""
    recorder = make_recorder(Arrays(export_tensorboard=True), has_metrics)
    recorder.save(step, "x", VALUE, decide(collection))
    assert step.metrics == expected


@pytest.mark.parametrize("value", [True, False])
def test_save_when_tensorboard_shows_a_histogram_then_it_has_the_values(make_recorder, step, value):
    """The values are kept for it beside the trial only if the trial does not have them."""
    recorder = make_recorder(Arrays(export_tensorboard=True))
    recorder.save(step, "w", VALUE, decide(value=value, shape=True))
    assert not step.summaries["w"].is_scalar
    assert list(step.summary_values) == ([] if value else ["w"])


def test_save_pending_when_a_collection_is_due_then_its_tensors_are_recorded_once(make_recorder, step, collections):
    """The others go on waiting."""
    recorder = make_recorder()
    plan = collections.plan(_EVERY_STEP, None, strict=True).at(ModeKeys.TRAIN, 0)
    for name, members in (("own", ("w",)), ("other", ("not due",))):
        recorder.tensors.add(name, recorder.copy_tensor(VALUE), members)
    recorder.save_pending(step, plan)
    assert values_of(step) == {"own": [[3, -4]]}
    assert recorder.tensors
    later = StepBuffer(StepPosition(1, ModeKeys.TRAIN, 1))
    recorder.save_pending(later, plan)
    assert not later


def test_begin_step_when_scalars_wait_then_the_step_gets_them(make_recorder, step):
    """What comes before the first step belongs to it."""
    recorder = make_recorder()
    recorder.save_scalar(None, "scalar/lr", Scalar(Captured(np.float64(0.5), 1.0), ModeKeys.TRAIN, False))
    recorder.begin_step(step)
    assert values_of(step) == {"scalar/lr": 0.5}
    assert not recorder.scalars.waiting


@pytest.mark.parametrize("is_final", [True, False])
def test_flush_scalars_when_no_step_follows_then_the_open_one_gets_them(make_recorder, step, is_final):
    """A scalar of the mode to come waits for a step of that mode, unless there is none to come."""
    recorder = make_recorder()
    recorder.save_scalar(step, "scalar/lr", Scalar(Captured(np.float64(0.5), 1.0), ModeKeys.EVAL, False))
    recorder.flush_scalars(step, ModeKeys.EVAL, is_final)
    assert values_of(step) == ({"scalar/lr": 0.5} if is_final else {})


@pytest.mark.parametrize(
    "value",
    [2, 2.0, True, np.float16(2), np.array(2), np.array([2]), np.array([[[2]]])],
    ids=lambda value: type(value).__name__,
)
def test_copy_scalar_when_value_is_one_number_then_it_is_copied(make_recorder, value):
    """Arrays of one element count as a number, whatever their number of dimensions."""
    assert make_recorder().copy_scalar(value, "lr").item() == np.asarray(value).item()


@pytest.mark.parametrize(
    "value", ["2", None, [1, 2], np.zeros(0), np.array(["2"]), object(), {}], ids=lambda value: type(value).__name__
)
def test_copy_scalar_when_value_is_anything_else_then_error_names_scalar_and_value(make_recorder, value):
    """The script hears of it where it makes the mistake."""
    with pytest.raises(SMDebugTypeError, match=r"scalar 'lr' must be one number \(got "):
        make_recorder().copy_scalar(value, "lr")
