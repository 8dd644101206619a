"""Every trial that the original wrote opens, and yields what the original's own reader said of it."""

from __future__ import annotations

import hashlib
import json
import math
import re

import numpy as np
import pytest

from sagemaker_debug_ext import modes
from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.trials import StepState, create_trial
from support.golden import GOLDEN_TRIALS

MISREAD_DTYPES = ("int8", "int16", "uint16", "uint32", "uint64", "complex64")
EMPTY_TENSORS = ("empty/f32_0", "empty/f32_3x0x2")
SHAPE_AND_VALUE = "fc_output_0"

FIXED_TENSORS = {
    "dtypes": {*(f"num/{dtype}" for dtype in MISREAD_DTYPES), *EMPTY_TENSORS},
    "torch_shapes": {SHAPE_AND_VALUE},
}
"""Golden trial → tensors that the original misread; each has a test of its own below."""

MISRECORDED = ("multi_worker_running", "create_trial(path, range_steps=(4, None))")
"""A recorded answer that smdebug 1.0.34 itself does not give, over the same files and with the recorded versions of
Python, numpy and protobuf: see test_incomplete_steps_when_all_of_a_range_then_are_not_listed."""


@pytest.fixture(params=GOLDEN_TRIALS)
def golden(request, unpack):
    return unpack(request.param)


@pytest.fixture
def trial(golden):
    return create_trial(golden.trial_path)


def describe(value):
    """Describe an array as `expected.json` does."""
    array = np.asarray(value)
    if array.dtype.kind == "U":
        return {"dtype": array.dtype.str, "shape": list(array.shape), "values": array.tolist()}
    content = np.ascontiguousarray(array).tobytes()
    return {
        "dtype": array.dtype.name,
        "sha256": hashlib.sha256(content).hexdigest(),
        "shape": list(array.shape),
        "head": array.reshape(-1)[:4].tolist(),
    }


def assert_same_value(value, expected, relative=None):
    """Compare exactly, or numbers with a tolerance where they were computed rather than read."""
    found = describe(value)
    if relative is None or found.get("sha256") == expected.get("sha256"):
        found.pop("head", None)
        assert found == {key: item for key, item in expected.items() if key != "head"}
    else:
        assert (found["dtype"], found["shape"]) == (expected["dtype"], expected["shape"])
        assert found["head"] == pytest.approx([float(item) for item in expected["head"]], rel=relative, nan_ok=True)


def test_names_when_compared_with_the_archives_then_are_all_of_them(archives):
    """No golden trial is left out."""
    assert sorted(path.name for path in archives.glob("*.tar.gz")) == [f"{name}.tar.gz" for name in GOLDEN_TRIALS]


def test_golden_trial_when_opened_then_describes_itself_as_expected(trial, golden):
    """Steps, modes, workers and names are those the original gave."""
    expected = golden.expected
    assert trial.loaded_all_steps == expected["ended"] == expected["loaded_all_steps_after_first_query"]
    assert trial.num_workers == expected["num_workers"]
    assert trial.workers() == expected["workers"]
    assert sorted(mode.name for mode in trial.modes()) == expected["modes"]
    assert trial.last_complete_step == expected["last_complete_step"]
    assert {mode.name: trial.steps(mode) for mode in modes} == expected["steps"]
    assert {mode.name: trial.steps(mode, True) for mode in modes} == expected["steps_with_incomplete"]
    assert trial.problems() == ()
    all_steps = trial.steps(show_incomplete_steps=True)
    for step in all_steps:
        assert [trial.mode(step).name, trial.mode_step(step)] == expected["mode_of_global_step"][str(step)]
        assert trial.workers_for_global_step(step) == expected["workers_for_global_step"][str(step)]
        assert trial.tensor_names(step=step) == expected["tensor_names_by_step"][str(step)]
    assert len(all_steps) == len(expected["mode_of_global_step"])
    assert trial.tensor_names() == expected["tensor_names"]
    for mode, names in expected["tensor_names_by_mode"].items():
        assert trial.tensor_names(mode=modes[mode]) == names


def test_golden_trial_when_opened_then_has_the_expected_collections(trial, golden):
    """Collections have the settings and the members that the original gave."""
    assert sorted(trial.collections()) == sorted(golden.expected["collections"])
    for name, expected in golden.expected["collections"].items():
        collection = trial.collection(name)
        assert collection.include_regex == expected["include_regex"]
        assert sorted(collection.tensor_names) == expected["tensor_names_in_file"]
        assert collection.save_histogram == expected["save_histogram"]
        assert (collection.save_config and collection.save_config.to_json_dict()) == expected["save_config"]
        reductions = ReductionConfig.from_dict(expected["reduction_config"])
        assert set(collection.reduction_config or ()) == set(reductions or ())
        assert (reductions and reductions.save_shape) == (reductions and collection.reduction_config.save_shape)
        assert trial.tensor_names(collection=name) == trial.tensor_names(collection=collection)
        assert trial.tensor_names(collection=name) == expected["tensor_names"]


def test_golden_trial_when_read_then_every_value_is_the_expected_one(trial, golden):
    """Every tensor has, at every step, mode and worker, exactly the value, shape and reductions expected."""
    num_entries = 0
    for name, expected in golden.expected["tensors"].items():
        tensor = trial.tensor(name)
        assert tensor.original_name == expected.get("original_name")
        assert tensor.steps(show_incomplete_steps=True) == expected["steps_with_incomplete_global"]
        assert {mode.name: steps for mode in modes if (steps := tensor.steps(mode))} == expected["steps"]
        for entry in expected["entries"]:
            check_entry(tensor, entry, name in FIXED_TENSORS.get(golden.name, ()))
            num_entries += 1
    assert num_entries > 0


def check_entry(tensor, entry, is_fixed):
    where = entry["step"], modes[entry["mode"]], entry["worker"]
    assert entry["worker"] in tensor.workers(*where[:2])
    if not is_fixed and "value" in entry:
        assert_same_value(tensor.value(*where), entry["value"])
    elif not is_fixed:
        with pytest.raises(Exception, match=re.escape(tensor.name)) as caught:
            tensor.value(*where)
        assert type(caught.value).__name__ == entry["value_raises"]
        assert caught.value.has_reductions == bool(entry.get("reductions_saved"))
    if "shape" in entry:
        assert list(tensor.shape(*where)) == entry["shape"]
    elif not is_fixed:
        with pytest.raises(Exception, match=re.escape(tensor.name)) as caught:
            tensor.shape(*where)
        assert type(caught.value).__name__ == entry["shape_raises"]
    saved = {
        ("abs_" if absolute else "") + op: value for (op, absolute), value in tensor.reduction_values(*where).items()
    }
    assert set(saved) == set(entry.get("reductions_saved", ()))
    for reduction, value in saved.items():
        assert_same_value(value, entry["reductions_saved"][reduction])
        op = reduction.removeprefix("abs_")
        assert_same_value(
            tensor.reduction_value(where[0], op, *where[1:], abs=op != reduction), entry["reductions_saved"][reduction]
        )


def test_golden_trial_when_queried_then_answers_as_expected(golden):
    """Every recorded query gives the recorded result or error."""
    trial = create_trial(golden.trial_path)
    for query in golden.expected["queries"]:
        if (golden.name, query.get("ranged")) == MISRECORDED:
            continue
        names = {"trial": trial, "modes": modes}
        if "ranged" in query:
            names["ranged"] = eval(query["ranged"], {"create_trial": create_trial, "path": golden.trial_path})
        check_query(query, names)


def check_query(query, names):
    expression = query["expr"]
    if "raises" not in query:
        return check_result(eval(expression, names), query["result"], expression)
    if query["raises"] == "KeyError" and "tensor_names(mode=" in expression:
        return None  # test_mode_never_seen_when_names_are_asked_then_there_are_none
    if query["raises"] == "ValueError" and re.search(r"reduction_value\(.*'l[12]'", expression):
        return None  # test_norm_of_neither_vector_nor_matrix_when_computed_then_is_over_all_elements
    with pytest.raises(Exception) as caught:
        eval(expression, names)
    classes = {base.__name__ for base in type(caught.value).__mro__}
    assert query["raises"] in classes, expression
    for number in re.findall(r"(?<=[Ss]tep )\d+", query["message"]):
        assert number in str(caught.value), expression
    return None


def check_result(result, expected, expression):
    relative = 2e-6 if ".reduction_value(" in expression else None
    if isinstance(expected, dict) and "dtype" in expected:
        assert_same_value(result, expected, relative)
    elif isinstance(expected, dict):
        assert sorted(str(key) for key in result) == sorted(expected), expression
        for key, value in result.items():
            assert_same_value(value, expected[str(key)])
    else:
        assert plain(result) == expected, expression


def plain(result):
    if isinstance(result, (modes, StepState)):
        return result.name
    return [plain(item) for item in result] if isinstance(result, (tuple, list)) else result


def test_incomplete_steps_when_all_of_a_range_then_are_not_listed(unpack):
    """A range that holds only steps some worker has yet to write lists none of them, unless asked to.

    `expected.json` has [4, 6] as the answer without being asked to; smdebug 1.0.34 answers [], as its rule for steps
    outside of ranges demands, and so do we.
    """
    name, opening = MISRECORDED
    golden = unpack(name)
    (recorded,) = (query["result"] for query in golden.expected["queries"] if query.get("ranged") == opening)
    ranged = create_trial(golden.trial_path, range_steps=(4, None))
    assert ranged.steps() == []
    assert ranged.steps(show_incomplete_steps=True) == recorded == [4, 6]


# --- what the original got wrong, each by name -----------------------------------------------------------------------


def test_dtypes_when_read_then_all_are_what_was_written(unpack):
    """Every tensor of the trial of dtypes is, to the bit, what the writer was given."""
    golden = unpack("dtypes")
    trial = create_trial(golden.trial_path)
    written = json.loads((golden.path / "written.json").read_text(encoding="utf-8"))["written"]
    assert trial.tensor_names() == sorted(written)
    for name, by_step in written.items():
        for step, expected in by_step.items():
            assert_same_value(trial.tensor(name).value(int(step)), expected)


@pytest.mark.parametrize("dtype", MISREAD_DTYPES)
def test_integer_and_complex_dtypes_when_read_then_keep_their_type(unpack, dtype):
    """The dtypes that the original misread, or failed to read, come back as themselves, computed reductions too."""
    tensor = create_trial(unpack("dtypes").trial_path).tensor(f"num/{dtype}")
    value = tensor.value(0)
    assert value.dtype == dtype
    assert tensor.shape(0) == value.shape
    assert tensor.reduction_value(0, "sum") == value.sum()


@pytest.mark.parametrize("name", EMPTY_TENSORS)
def test_empty_tensor_when_read_then_has_its_shape(unpack, name):
    """An empty tensor, which the original cannot read, is an empty array."""
    tensor = create_trial(unpack("dtypes").trial_path).tensor(name)
    assert tensor.value(0).size == 0
    assert tensor.shape(0) == tensor.value(0).shape == tuple(map(int, name.partition("_")[2].split("x")))
    assert tensor.reduction_value(0, "sum") == 0
    assert math.isnan(tensor.reduction_value(0, "mean"))


def test_shape_and_value_when_both_saved_then_both_can_be_read(unpack):
    """A saved shape does not hide the value saved with it."""
    tensor = create_trial(unpack("torch_shapes").trial_path).tensor(SHAPE_AND_VALUE)
    for step in tensor.steps():
        value = tensor.value(step)
        assert value.shape == tensor.shape(step) == (6, 5)
        assert tensor.reduction_value(step, "mean") == pytest.approx(value.mean(), rel=1e-5)


@pytest.mark.parametrize("name", GOLDEN_TRIALS)
def test_mode_never_seen_when_names_are_asked_then_there_are_none(unpack, name):
    """Asking for a mode, or a step of a mode, that was never saved is no error."""
    trial = create_trial(unpack(name).trial_path)
    unseen = [mode for mode in modes if mode is not modes.GLOBAL and mode not in trial.modes()]
    assert [trial.tensor_names(mode=mode) for mode in unseen] == [[]] * len(unseen)
    assert trial.tensor_names(mode=modes.TRAIN, step=10**6) == []


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize(
    ("golden_name", "name"), [("dtypes", "zero_d/float32"), ("dtypes", "num/float32"), ("xgboost", "full_shap/f0")]
)
def test_norm_of_neither_vector_nor_matrix_when_computed_then_is_over_all_elements(
    unpack, golden_name, name, norm, absolute
):
    """Where the original gave up, the norm is taken over all elements; that of a matrix stays the matrix norm."""
    tensor = create_trial(unpack(golden_name).trial_path).tensor(name)
    value = tensor.value(0).astype(np.float64)
    order = int(norm[1])
    expected = np.linalg.norm(value if value.ndim == 2 else value.reshape(-1), ord=order)
    assert tensor.reduction_value(0, norm, abs=absolute) == pytest.approx(
        np.linalg.norm(abs(value), ord=order) if absolute and value.ndim == 2 else expected, rel=1e-5
    )


def test_collection_unknown_when_asked_for_then_is_empty_and_kept(unpack):
    """A script may fill it, as with smdebug; a query for its tensors alone adds nothing."""
    trial = create_trial(unpack("torch_mnistlike").trial_path)
    before = set(trial.collections())
    assert trial.tensor_names(collection="no_such_collection") == []
    assert set(trial.collections()) == before
    assert trial.collection("no_such_collection").tensor_names == set()
    assert set(trial.collections()) == {*before, "no_such_collection"}


def test_partial_last_step_when_trial_has_ended_then_mode_queries_work(unpack):
    """A step that not all workers wrote is asked for by its mode without an error."""
    trial = create_trial(unpack("multi_worker").trial_path)
    assert trial.has_passed_step(10, mode=modes.TRAIN) is StepState.AVAILABLE
    assert trial.has_passed_step(9, mode=modes.TRAIN) is StepState.UNAVAILABLE


def test_wait_when_done_then_automatic_refresh_is_as_before(unpack):
    """Waiting for steps does not switch off the automatic refresh."""
    trial = create_trial(unpack("multi_worker_running").trial_path)
    trial.wait_for_steps([0, 2])
    assert trial.dynamic_refresh


def test_double_underscore_in_path_when_opened_then_workers_keep_their_names(unpack, tmp_path):
    """Only the file's own name says which worker wrote it."""
    folder = tmp_path / "my__runs" / "a__b"
    folder.parent.mkdir()
    folder.symlink_to(unpack("multi_worker").trial_path)
    trial = create_trial(folder)
    assert trial.tensor("Sequential_0.weight").workers(0) == trial.workers() == [f"worker_{n}" for n in range(4)]
