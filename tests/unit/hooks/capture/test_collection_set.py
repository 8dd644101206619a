from __future__ import annotations

import pytest

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.hook_options import HookOptions
from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.config.saving import SaveConfig
from sagemaker_debug_ext.errors import InvalidCollectionConfiguration, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.vocabulary import ModeKeys

EVERY_STEP = SaveConfig(save_interval=1)


@pytest.fixture
def collections():
    return CollectionSet(Collection, {"weights": ("weight",), "losses": ("loss",)}, saved=["losses"])


def saved_at_first_step(collections, strict=False):
    return collections.plan(EVERY_STEP, None, strict).at(ModeKeys.TRAIN, 0).saved


def test_get_when_collection_is_unknown_then_creates_it(collections):
    """Asking for a collection makes it, as scripts expect, but does not have it saved."""
    assert collections.get("mine").name == "mine"
    assert [item.name for item in collections] == ["weights", "losses", "mine"]
    assert collections.saved == {"losses"}


def test_get_when_creation_is_unwanted_then_error_names_the_nearest(collections):
    """A misspelt name is answered by the one that was meant."""
    with pytest.raises(SMDebugValueError, match=r"got 'weight'.*did you mean 'weights'"):
        collections.get("weight", create=False)


def test_add_when_name_is_taken_then_replaces(collections):
    """The collection added last counts."""
    mine = Collection("weights", ["w"])
    collections.add(mine)
    assert collections.get("weights") is mine


def test_add_when_it_is_no_collection_then_refuses(collections):
    """Only collections can be added."""
    with pytest.raises(SMDebugTypeError, match="collection must be a Collection"):
        collections.add("weights")


def test_save_when_called_then_collection_is_saved_with_the_patterns(collections):
    """Patterns given to the hook make their collection a saved one."""
    collections.save("default", ["relu"])
    assert collections.saved == {"losses", "default"}
    assert collections.get("default").include_regex == ["relu"]


def test_plan_when_everything_is_saved_then_later_collections_are_too():
    """Saving all means every collection there is."""
    collections = CollectionSet(Collection, {"weights": ("weight",)}, ["losses"], save_all=True)
    collections.get("mine").include("x")
    assert saved_at_first_step(collections) == ("weights", "mine", "losses")


def test_plan_when_custom_collection_is_empty_then_logs_once_and_goes_on(collections, caplog):
    """A mistake in one collection costs that collection, not the others."""
    collections.save("mine", [])
    assert "losses" in saved_at_first_step(collections)
    saved_at_first_step(collections)
    assert caplog.text.count("collection 'mine' selects no tensor") == 1


def test_plan_when_collection_is_misspelt_then_says_which_was_meant(collections, caplog):
    """A name that is nearly that of a collection with members is a slip."""
    collections.save("weigths", [])
    saved_at_first_step(collections)
    assert "did you mean 'weights'?" in caplog.text


def test_plan_when_strict_and_custom_collection_is_empty_then_raises(collections):
    """A strict hook takes the mistake for an error."""
    collections.save("mine", [])
    with pytest.raises(InvalidCollectionConfiguration, match="mine"):
        saved_at_first_step(collections, strict=True)


def test_include_outputs_when_no_pattern_takes_them_then_adds_one_for_them_alone(collections):
    """A module's outputs become members, and nothing that is merely called alike."""
    losses = collections.get("losses")
    collections.include_outputs("losses", of="Dice[2]")
    assert losses.matches("Dice[2]_output_10")
    assert not any(map(losses.matches, ["MyDice[2]_output_0", "Dice[2]_input_0", "Dice2_output_0"]))
    before = list(losses.include_regex)
    collections.include_outputs("losses", of="Dice[2]")
    assert losses.include_regex == before


def test_note_when_tensor_is_new_then_there_is_news(collections):
    """The collections file is written again only if a member was added."""
    collections.export()
    assert not collections.has_news
    collections.note("loss_0", ("losses",))
    assert collections.has_news
    (weights, losses) = collections.export()
    assert (weights["tensor_names"], losses["tensor_names"]) == ([], ["loss_0"])
    collections.note("loss_0", ("losses",))
    assert not collections.has_news


def test_export_when_planned_then_settings_are_complete(collections):
    """The collections file shows what applied, wherever it came from."""
    collections.plan(EVERY_STEP, ReductionConfig(reductions=["min"]), strict=False)
    weights, losses = collections.export()
    assert weights["reduction_config"] == {"save_raw_tensor": False, "reductions": "min", "save_shape": False}
    assert losses["reduction_config"] == {"save_raw_tensor": True, "reductions": "", "save_shape": False}
    assert weights["save_config"] == EVERY_STEP.to_json_dict()
    assert (weights["save_histogram"], losses["save_histogram"]) == (True, False)


@pytest.mark.parametrize(
    ("arguments", "saved"),
    [
        pytest.param({}, {"losses": ["loss"]}, id="nothing"),
        pytest.param({"include_collections": ["weights"]}, {"losses": ["loss"], "weights": ["w"]}, id="collections"),
        pytest.param({"include_regex": "relu"}, {"losses": ["loss"], "default": ["relu"]}, id="patterns"),
        pytest.param(
            {"save_all": True}, {"losses": ["loss"], "weights": ["w"], "default": [], "all": [".*"]}, id="everything"
        ),
    ],
)
def test_of_when_hook_has_options_then_its_collections_follow_them(arguments, saved):
    """What a hook saves by default, and what it is asked for beside that."""
    patterns = {"default": (), "all": (), "losses": ("loss",), "weights": ("w",)}
    collections = CollectionSet.of(HookOptions(**arguments), Collection, patterns, default_names=["losses"])
    assert {name: collections.get(name, create=False).include_regex for name in collections.saved} == saved
