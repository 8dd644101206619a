"""Small functions that public scripts import from inner modules of smdebug, on both libraries."""

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3://bucket/a/b", (True, "bucket", "a/b")),
        ("s3://bucket/", (True, "bucket", "")),
        ("s3://bucket", (True, "bucket", "")),
        ("/tmp/a", (False, None, None)),
    ],
)
def test_is_s3_when_called_then_gives_bucket_and_key(library, path, expected):
    """The third item keeps every slash but the first."""
    assert library.module("core.utils").is_s3(path) == expected
    assert library.module("core.access_layer.s3handler").is_s3(path) == expected


@pytest.mark.parametrize("word", ["yes", "TRUE", "on", "1", True, "n", "False", "off", "0", False])
def test_str2bool_when_given_a_usual_word_then_gives_its_meaning(library, word):
    """Scripts use it as the type of a command-line argument."""
    expected = word if isinstance(word, bool) else word.lower() in ("yes", "true", "on", "1")
    assert library.module("profiler.utils").str2bool(word) is expected


def test_str2bool_when_given_another_word_then_raises_value_error(library):
    """argparse turns the error into a usage message."""
    with pytest.raises(ValueError, match="maybe"):
        library.module("profiler.utils").str2bool("maybe")


@pytest.mark.parametrize("name", ["min", "max", "mean", "std", "variance", "sum", "prod", "l1", "l2"])
@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("value", [np.array([[1.0, -2.0], [3.5, 4.0]]), np.array([-3.0, 2.0]), 2.5])
def test_numpy_reduction_when_computed_then_is_that_of_numpy(library, name, absolute, value):
    """Norms of matrices are matrix norms."""
    array = np.absolute(value) if absolute else np.asarray(value)
    if name in ("l1", "l2"):
        expected = np.linalg.norm(np.atleast_1d(array), ord=int(name[1]))
    else:
        expected = getattr(np, {"variance": "var"}.get(name, name))(array)
    result = library.module("core.reductions").get_numpy_reduction(name, value, abs=absolute)
    np.testing.assert_allclose(result, expected)


def test_reduction_name_when_made_then_is_taken_apart_again(library):
    """The names are part of the files' format."""
    reductions = library.module("core.reductions")
    name = reductions.get_reduction_tensor_name("dense/kernel:0", "mean", True)
    assert name == "smdebug/reductions/abs_mean/dense/kernel"
    assert reductions.reverse_reduction_tensor_name(name) == ("dense/kernel", "mean", True)
    assert reductions.get_reduction_tensor_name("a:0", "l2", False, remove_colon_index=False).endswith("/l2/a:0")


def test_modes_when_named_then_are_members_of_the_enumeration(library):
    """Scripts parse modes of the command line."""
    modes = library.module("core.modes")
    assert [modes.str_to_mode_keys(name.lower()) for name in modes.ALLOWED_MODE_NAMES] == modes.ALLOWED_MODES
    with pytest.raises(Exception, match="mode"):
        modes.str_to_mode_keys("TRAIN")


@pytest.mark.parametrize("value", [2, 2.5, [1, 2], (1.0, 2.0), np.float32(1), np.zeros(()), np.eye(2)])
def test_numpy_array_when_made_of_a_number_then_has_one_element(library, value):
    """Arrays come back as they are, numbers with one dimension."""
    result = library.module("core.utils").make_numpy_array(value)
    assert result.shape == (np.shape(value) if isinstance(value, (np.ndarray, list, tuple)) else (1,))


def test_numpy_array_when_made_of_a_dictionary_then_holds_it(library):
    """It has no dimension."""
    made = library.module("core.utils").make_numpy_array({"a": 0.5})
    assert made.shape == ()
    assert made.item() == {"a": 0.5}


def test_end_of_training_when_marked_then_is_seen(library, tmp_path):
    """Scripts that write trials by hand mark their end."""
    access = library.module("core.access_layer")
    assert not access.has_training_ended(str(tmp_path))
    assert not access.check_dir_exists(str(tmp_path))
    access.training_has_ended(str(tmp_path))
    assert access.has_training_ended(str(tmp_path))
    assert access.check_dir_exists(str(tmp_path))
    assert (tmp_path / "training_job_end.ts").exists()
