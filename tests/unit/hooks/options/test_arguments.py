"""The arguments of a hook: what is taken, and what is refused when the hook is made."""

from __future__ import annotations

import inspect
import logging
import re

import attrs
import numpy as np
import pytest

from sagemaker_debug_ext.config.hook_options import HookOptions, to_flag
from sagemaker_debug_ext.config.saving import SaveConfig, SaveConfigMode
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.base import BaseHook
from sagemaker_debug_ext.hooks.options.config_file import parse_configuration

FLAGS = ("dry_run", "export_tensorboard", "strict", "handle_sigterm")
COUNTS = {"memory_limit_bytes": 1, "spill_limit_bytes": 1, "flight_recorder": 0}


def refusal(error, text):
    return pytest.raises(error, match=f"^{re.escape(text)}$")


@pytest.mark.parametrize("value", ["false", "True", "", None, 2, 1.0, [], np.ones(2)], ids=repr)
@pytest.mark.parametrize("name", FLAGS)
def test_flag_when_it_is_no_bool_then_is_refused(make_hook, name, value):
    """Above all texts, which all but the empty one would count as true."""
    with refusal(SMDebugTypeError, f"{name} must be True or False (got {value!r})"):
        make_hook(**{name: value})
    assert not registry.has_hook()


@pytest.mark.parametrize("value", ["yes", "", [], np.ones(2)], ids=repr)
def test_save_all_when_its_meaning_is_unclear_then_is_refused(make_hook, value):
    """The original saves everything for all that Python counts as true, even the text "no"."""
    with refusal(SMDebugTypeError, f"save_all must be True or False (got {value!r})"):
        make_hook(save_all=value)


@pytest.mark.parametrize(("value", "flag"), [("True", True), ("false", False), (None, False), (2, True), (0.0, False)])
def test_save_all_when_given_as_scripts_do_then_is_understood(make_hook, value, flag):
    """Scripts pass what they have parsed from the command line."""
    assert make_hook(save_all=value).save_all is flag


@pytest.mark.parametrize("value", [True, np.True_, 1, np.int64(1), False, np.False_, 0], ids=repr)
def test_flag_when_it_stands_for_a_bool_then_becomes_one(make_hook, value):
    """Results of NumPy's comparisons, and the numbers 0 and 1."""
    assert to_flag(value, "strict") is bool(value)
    assert make_hook(dry_run=value).dry_run is bool(value)


@pytest.mark.parametrize("value", ["1GB", "5", True, np.True_, 2.5, float("inf"), float("nan"), None, [5]], ids=repr)
@pytest.mark.parametrize("name", COUNTS)
def test_count_when_it_is_no_whole_number_then_is_refused(make_hook, name, value):
    """A bool is none, and there is no text that means a number of bytes."""
    with refusal(SMDebugTypeError, f"{name} must be a whole number of at least {COUNTS[name]} (got {value!r})"):
        make_hook(**{name: value})
    assert not registry.has_hook()


@pytest.mark.parametrize(
    ("name", "value"),
    [("memory_limit_bytes", 0), ("memory_limit_bytes", -1), ("spill_limit_bytes", 0), ("flight_recorder", -3)],
)
def test_count_when_it_is_too_small_then_is_refused(make_hook, name, value):
    """A limit without room for a byte would stop training, or saving, at some later step."""
    with refusal(SMDebugValueError, f"{name} must be a whole number of at least {COUNTS[name]} (got {value!r})"):
        make_hook(**{name: value})


def test_arguments_when_none_is_given_then_the_options_have_the_defaults_of_the_signature():
    """The signature that users read and the options hold the same arguments."""
    parameters = inspect.signature(BaseHook).parameters
    assert list(parameters) == [field.name for field in attrs.fields(HookOptions)]
    defaults = {name: parameter.default for name, parameter in parameters.items() if name != "out_dir"}
    assert HookOptions(**defaults) == HookOptions()


@pytest.mark.parametrize("value", [7, np.int32(7), 7.0, np.float32(7)], ids=repr)
def test_count_when_it_is_a_whole_number_then_becomes_an_int(value):
    """Also one of NumPy, or written as ``1e9``."""
    count = HookOptions(flight_recorder=value).flight_recorder
    assert (count, type(count)) == (7, int)


@pytest.mark.parametrize("value", [5, b"tb", ["tb"]], ids=repr)
def test_tensorboard_dir_when_it_is_no_path_then_is_refused(make_hook, value):
    """When the hook is made, not at its first step."""
    with refusal(SMDebugTypeError, f"tensorboard_dir must be a path (got {value!r})"):
        make_hook(tensorboard_dir=value)


@pytest.mark.parametrize("below", ["", "tb"])
def test_tensorboard_dir_when_a_file_is_in_the_way_then_is_refused(make_hook, tmp_path, below):
    """As for `out_dir`."""
    file = tmp_path / "file"
    file.touch()
    path = file / below
    text = f"tensorboard_dir must be a folder (got {str(path)!r}, and {str(file)!r} is a file)"
    with refusal(SMDebugValueError, text):
        make_hook(tensorboard_dir=path)


def test_tensorboard_dir_when_it_is_a_path_then_is_written_to(make_hook, tmp_path):
    """Path objects are taken like texts; the hook tells the text."""
    hook = make_hook(tensorboard_dir=tmp_path / "tb")
    hook.save_scalar("lr", 0.5)
    hook.close()
    assert hook.tensorboard_dir == str(tmp_path / "tb")
    assert len(list((tmp_path / "tb" / "GLOBAL").iterdir())) == 1


@pytest.mark.parametrize("path", ["", "  "])
@pytest.mark.parametrize("name", ["out_dir", "tensorboard_dir"])
def test_path_when_it_is_empty_then_is_refused(hook_class, tmp_path, name, path):
    """Nothing is written to the working directory unasked."""
    with refusal(SMDebugValueError, f"{name} must be a path (got {path!r})"):
        hook_class(**{"out_dir": tmp_path / "out", name: path})


@pytest.mark.parametrize("name", ["include_regex", "include_collections", "statistics"])
@pytest.mark.parametrize("value", [5, 0, False])
def test_list_when_it_is_none_then_error_names_the_argument(make_hook, name, value):
    """Also where the value counts as false."""
    with refusal(SMDebugTypeError, f"{name} must be a list of texts (got {value!r})"):
        make_hook(**{name: value})


@pytest.mark.parametrize("nothing", [None, "", [], ()])
def test_include_regex_when_there_is_none_then_nothing_is_added(make_hook, nothing):
    """Nor does an empty pattern match everything."""
    assert make_hook(include_regex=nothing).has_default_configuration()


def test_save_tensor_when_collections_are_no_list_then_error_names_the_argument(make_hook):
    """In place of Python's own error."""
    with refusal(SMDebugTypeError, "collections_to_write must be a list of texts (got 5)"):
        make_hook().save_tensor("x", 1, 5)


def test_create_from_configuration_when_values_are_texts_then_the_hook_gets_what_they_mean(hook_class, tmp_path):
    """What the file says passes the checks of the hook's own arguments, as bools and numbers."""
    given = {
        "dry_run": "true",
        "save_all": "True",
        "export_tensorboard": "false",
        "handle_sigterm": "false",
        "memory_limit_bytes": "1000",
        "flight_recorder": "0",
    }
    document = {"LocalPath": str(tmp_path / "out"), "HookParameters": given}
    configuration = parse_configuration(document, "hook.json")
    hook = hook_class.create_from_configuration(configuration)
    arguments = configuration.arguments()
    assert [arguments[name] for name in ("save_all", *FLAGS) if name in arguments] == [True, True, False, False]
    assert all(type(arguments[name]) is int for name in COUNTS)
    assert (hook.dry_run, hook.save_all, hook.export_tensorboard) == (True, True, False)


@pytest.mark.parametrize(
    ("save_config", "modes"),
    [
        ({"start_step": 10, "end_step": 5}, "TRAIN, EVAL, PREDICT, GLOBAL"),
        ({"start_step": 1, "end_step": 5}, "TRAIN, EVAL, PREDICT, GLOBAL"),
        ({"EVAL": SaveConfigMode(2, start_step=3, end_step=4)}, "EVAL"),
    ],
)
def test_save_config_when_it_never_saves_a_step_then_one_warning_says_so(make_hook, caplog, save_config, modes):
    """It is legal, as sections of the configuration file may add up to it, and hardly ever meant."""
    with caplog.at_level(logging.WARNING):
        hook = make_hook(save_config=save_config)
        hook.run_step({"loss": 1.0})
        hook.get_collection("losses")
        hook.run_step({"loss": 1.0})
    (record,) = [record for record in caplog.records if "never saves" in record.message]
    assert f"of the hook never saves a step of mode {modes}:" in record.message


def test_save_config_when_that_of_a_collection_never_saves_a_step_then_one_warning_says_so(make_hook, caplog):
    """However often the collections are looked at."""
    hook = make_hook()
    hook.get_collection("losses").save_config = SaveConfig(start_step=10, end_step=5)
    for _ in range(3):
        hook.run_step({"loss": 1.0})
        hook.get_collection("losses")
    assert caplog.text.count("collection 'losses' never saves a step") == 1


@pytest.mark.parametrize(
    "save_config",
    [{"end_step": 0}, {"start_step": 5, "end_step": 0}, {"end_step": 1}, {"save_steps": [7], "end_step": 0}],
)
def test_save_config_when_that_is_what_it_says_then_nobody_warns(make_hook, caplog, save_config):
    """An end step of 0 switches a collection off."""
    make_hook(save_config=save_config).run_step({"loss": 1.0})
    assert "never saves" not in caplog.text
