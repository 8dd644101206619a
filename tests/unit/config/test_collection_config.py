"""Collections as the user asks for them, and the parameters of hook and collections."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.config import CollectionConfig, DebuggerHookConfig
from sagemaker_debug_ext.config.hook_options import COLLECTION_PARAMETERS, HOOK_PARAMETERS
from sagemaker_debug_ext.config.text_forms import split_patterns
from sagemaker_debug_ext.errors import DebugExtWarning, SMDebugTypeError, SMDebugValueError
from support.pipelines import Variable


def test_collection_renders_numbers_booleans_and_lists():
    """A script may write values as it thinks of them."""
    config = CollectionConfig(
        "losses",
        {"save_interval": 50, "save_histogram": False, "eval.save_steps": [1, 2], "reductions": ["min", "l1_norm"]},
    )
    assert config.parameters == {
        "save_interval": "50",
        "save_histogram": "False",
        "eval.save_steps": "1,2",
        "reductions": "min,l1_norm",
    }


def test_collections_that_say_the_same_are_equal():
    """Type and order of what was written make no difference."""
    one = CollectionConfig("losses", {"save_interval": 50, "start_step": "3"})
    other = CollectionConfig(name="losses", parameters={"start_step": 3, "save_interval": "50"})
    assert one == other
    assert hash(one) == hash(other)
    assert one != CollectionConfig("losses", {"save_interval": 51, "start_step": "3"})
    assert CollectionConfig("losses") == CollectionConfig("losses", {}) == CollectionConfig("losses", None)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"save_intervall": 1}, "did you mean 'save_interval'"),
        ({"trian.save_interval": 1}, "did you mean 'train.save_interval'"),
        ({"TRAIN.save_interval": 1}, "did you mean 'train.save_interval'"),
        ({"train.include_regex": "x"}, "must be among"),
        ({"save_all": True}, "must be among"),
        ({"save_interval": "abc"}, "whole number .got 'abc'"),
        ({"save_interval": 0}, "at least 1 .got 0"),
        ({"save_interval": 10.5}, "whole number"),
        ({"eval.start_step": -1}, "eval.start_step of collection 'c'.*at least 0"),
        ({"end_step": "soon"}, "whole number"),
        ({"start_step": 5, "end_step": 5}, "end_step is exclusive"),
        ({"train.start_step": 5, "train.end_step": 4}, "train.end_step is exclusive"),
        ({"save_steps": "1,x"}, "step numbers"),
        ({"save_steps": [-1]}, "step numbers"),
        ({"reductions": "mean,median"}, "reductions must be among"),
        ({"reductions": "l1"}, "l1_norm"),
        ({"save_histogram": "yes"}, "True, true, False, false"),
        ({"save_raw_tensor": 1}, "boolean"),
        ({"include_regex": "(open"}, "regular expressions"),
        ({"include_regex": "a{1,3}"}, "comma inside a pattern"),
        ({"include_regex": "[a,b]"}, "comma inside a pattern"),
        ({"include_regex": r"a\,b"}, "comma inside a pattern"),
        ({"include_regex": r"(a[)],b)"}, "comma inside a pattern"),
        ({"include_regex": ["a{1,3}"]}, "without a comma"),
    ],
)
def test_collection_with_a_wrong_parameter_is_refused(parameters, match):
    """The error says what is allowed and, for a misspelt name, which is nearest."""
    with pytest.raises(SMDebugValueError, match=match):
        CollectionConfig("c", parameters, strict=True)


def test_parameter_when_unknown_then_is_passed_on_with_a_warning():
    """A job that used to train still does, placeholders of the guide included."""
    with pytest.warns(DebugExtWarning, match="passed on as it is: .*of collection 'c' must be among"):
        assert CollectionConfig("c", {"key": "value"}).parameters == {"key": "value"}
    with pytest.warns(DebugExtWarning, match="did you mean 'save_all'"):
        assert DebuggerHookConfig(hook_parameters={"save_al": True}).hook_parameters == {"save_al": "True"}
    assert CollectionConfig("c", {"save_interval": 5}, strict=True) == CollectionConfig("c", {"save_interval": 5})


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"save_al": True}, "did you mean 'save_all'"),
        ({"save_histogram": True}, "must be among"),
        ({"include_workers": "some"}, "'one' or 'all'"),
        ({"export_tensorboard": "1"}, "True, true, False, false"),
        ({"save_interval": 0}, "save_interval of the hook"),
    ],
)
def test_hook_with_a_wrong_parameter_is_refused(parameters, match):
    """Hook parameters are checked as those of collections are."""
    with pytest.raises(SMDebugValueError, match=match):
        DebuggerHookConfig(hook_parameters=parameters, strict=True)


def test_hook_takes_all_its_parameters():
    """Those of collections and its own."""
    given = {
        "save_interval": 5,
        "include_regex": ["a", "b"],
        "save_all": True,
        "include_workers": "all",
        "export_tensorboard": "true",
        "tensorboard_dir": "/tb",
    }
    assert DebuggerHookConfig(hook_parameters=given).hook_parameters == {
        **given,
        "save_interval": "5",
        "include_regex": "a,b",
        "save_all": "True",
    }


@pytest.mark.parametrize("checks", [COLLECTION_PARAMETERS, HOOK_PARAMETERS], ids=["collection", "hook"])
def test_parameters_unknown_until_the_pipeline_runs_are_accepted(checks):
    """The value of a pipeline variable is not looked at."""
    kind = (
        CollectionConfig
        if checks is COLLECTION_PARAMETERS
        else lambda _, parameters: DebuggerHookConfig(None, None, parameters)
    )
    kind("c", dict.fromkeys(checks, Variable()))


@pytest.mark.parametrize("name", ["", "x" * 257])
def test_collection_name_of_a_wrong_length_is_refused(name):
    """Names have 1 to 256 characters."""
    with pytest.raises(SMDebugValueError, match=r"CollectionConfig\.name"):
        CollectionConfig(name)


def test_collection_name_of_another_type_is_refused():
    """A name is text, or a pipeline variable."""
    with pytest.raises(SMDebugTypeError, match=r"CollectionConfig\.name"):
        CollectionConfig(5)
    variable = Variable()
    assert CollectionConfig(variable).name is variable


def test_split_patterns_leaves_brackets_and_escapes_alone():
    """Only a comma inside them is a mistake."""
    assert split_patterns(r"fc\.w, \(x\)|[)], (a|b){2}", "x") == [r"fc\.w", r"\(x\)|[)]", "(a|b){2}"]


@given(st.lists(st.from_regex(r"\A[a-z.*]{1,6}(\([a-z]\|[a-z]\))?\Z"), max_size=4))
def test_split_patterns_undoes_the_joining(patterns):
    """Patterns without commas come back as they were."""
    assert split_patterns(" , ".join(patterns), "x") == patterns


@pytest.mark.parametrize(
    ("name", "meant"),
    [("gradient", "gradients"), ("Weights", "weights"), ("loss", "losses"), ("bias", "biases"), ("weihgts", "weights")],
)
def test_config_when_a_builtin_collection_is_misspelt_then_refused_where_it_is_written(name, meant):
    """The hook would leave such a collection out, in a job that has been paid for."""
    with pytest.raises(SMDebugValueError, match=f"collection {name!r} selects no tensor.*; did you mean {meant!r}"):
        CollectionConfig(name)
    assert CollectionConfig(name, {"include_regex": "relu"}).name == name


@pytest.mark.parametrize("name", ["my_losses", "weights2", "custom", "a", "mylosses", "relu", "losses_1"])
def test_config_when_a_name_is_ones_own_then_accepted(name):
    """A script can add tensors to a collection of any name."""
    assert CollectionConfig(name).name == name
