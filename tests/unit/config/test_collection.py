"""Collections as hooks fill them and trials show them."""

import pytest

from sagemaker_debug_ext import ReductionConfig, SaveConfig, SaveConfigMode, modes
from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError


def test_member_is_listed_or_matches_a_pattern():
    """Patterns are searched anywhere in the name."""
    collection = Collection("conv", include_regex=["conv0"], tensor_names=["bias"])
    assert collection.matches("bias")
    assert collection.matches("gradient/conv0_weight")
    assert not collection.matches("conv1_weight")


def test_json_is_read_back():
    """A collection survives the collections file."""
    collection = Collection(
        "conv", ["conv.*"], ["b", "a"], ReductionConfig(["min"]), SaveConfig(save_interval=3), save_histogram=False
    )
    read = Collection.from_json(collection.to_json())
    assert read == collection
    assert hash(read) == hash(collection)
    assert list(collection.to_json_dict()) == [
        "name", "include_regex", "tensor_names", "reduction_config", "save_config", "save_histogram",
    ]  # fmt: skip
    assert collection.to_json_dict()["tensor_names"] == ["a", "b"]


def test_from_dict_tolerates_what_other_writers_leave_out_or_add():
    """Only the name is needed."""
    collection = Collection.from_dict({"name": "x", "new": 1})
    assert (collection.include_regex, collection.save_config, collection.save_histogram) == ([], None, True)


def test_save_config_may_be_given_by_mode():
    """A dictionary of modes becomes a SaveConfig; what it leaves out is the hook's to fill."""
    collection = Collection("x", save_config={modes.EVAL: SaveConfigMode(2)})
    assert collection.save_config == SaveConfig({modes.EVAL: SaveConfigMode(2)})


def test_names_can_be_added_and_removed():
    """The list of members is a set that scripts may change."""
    collection = Collection("x")
    collection.add_tensor_name("a")
    collection.tensor_names = ["b", "c"]
    collection.remove_tensor_name("c")
    collection.remove_tensor_name("unknown")
    assert collection.tensor_names == {"b"}
    assert collection.has_tensor_name("b")
    assert not collection.has_tensor_name("a")


def test_include_takes_one_pattern_or_several():
    """Patterns accumulate."""
    collection = Collection("x", include_regex=["a"])
    collection.include("b")
    collection.include(["c", "d"])
    assert collection.include_regex == ["a", "b", "c", "d"]


@pytest.mark.parametrize("pattern", [5, None, ["a", 5]])
def test_include_refuses_other_types(pattern):
    """Only texts are patterns."""
    with pytest.raises(SMDebugTypeError, match="pattern"):
        Collection("x").include(pattern)


def test_pattern_that_does_not_compile_names_the_collection():
    """The error says which collection, which pattern and what is wrong with it."""
    with pytest.raises(SMDebugValueError, match=r"'relu_output'.*'\(unclosed'.*unterminated"):
        Collection("relu_output", include_regex=["(unclosed"])


@pytest.mark.parametrize(
    "arguments", [{"reduction_config": "min"}, {"save_config": 5}, {"tensor_names_later": 5}], ids=str
)
def test_settings_of_another_type_are_refused(arguments):
    """Each setting says what it takes."""
    collection = Collection("x")
    name, value = next(iter(arguments.items()))
    with pytest.raises(SMDebugTypeError, match="must be"):
        setattr(collection, name.removesuffix("_later"), value)


def test_comparison_with_something_else_is_false():
    """Collections equal only collections."""
    assert Collection("x") != "x"
    assert "x" in repr(Collection("x"))
