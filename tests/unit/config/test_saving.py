"""When to save: the decisions of one mode, the four modes together, and refusals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext import SaveConfig, SaveConfigMode, modes
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError

mode_configs = st.builds(
    SaveConfigMode,
    save_interval=st.integers(1, 20),
    start_step=st.integers(0, 30),
    end_step=st.none() | st.integers(0, 60),
    save_steps=st.lists(st.integers(0, 70), max_size=4),
)
save_configs = st.builds(SaveConfig, st.dictionaries(st.sampled_from(modes), st.none() | mode_configs))


@pytest.mark.parametrize(
    ("config", "upto", "expected"),
    [
        (SaveConfigMode(100, start_step=150), 400, [200, 300]),
        (SaveConfigMode(save_steps=[3, 7]), 1001, [0, 3, 7, 500, 1000]),
        (SaveConfigMode(5, end_step=10, save_steps=[11]), 50, [0, 5, 11]),
        (SaveConfigMode(), 1001, [0, 500, 1000]),
        (SaveConfigMode("2", start_step="1", end_step="5"), 9, [2, 4]),
        (SaveConfigMode(end_step=0), 1001, []),
    ],
    ids=["start", "listed steps", "end", "default", "texts", "never"],
)
def test_should_save_step_follows_the_table(config, upto, expected):
    """Multiples of the interval within the range, and the listed steps."""
    assert [step for step in range(upto) if config.should_save_step(step)] == expected


@given(mode_configs)
def test_should_save_step_agrees_with_counting(config):
    """The decision for a step is the one that counting through all steps gives."""
    end = 100 if config.end_step is None else config.end_step
    expected = set(config.save_steps) | {
        step for step in range(config.start_step, end) if step % config.save_interval == 0
    }
    assert {step for step in range(100) if config.should_save_step(step)} == expected & set(range(100))


@given(mode_configs, st.integers(0, 80))
def test_the_next_step_to_save_is_the_first_that_is_to_be_saved(config, step):
    """Of those after a step."""
    following = (later for later in range(step + 1, step + 101) if config.should_save_step(later))
    assert config.next_step_to_save(step) == next(following, None)


@given(mode_configs)
def test_futile_is_what_never_saves_a_step_without_saying_so(config):
    """An end step of 0 says so; ranges here are shorter than 100 steps."""
    is_saving = any(config.should_save_step(step) for step in range(100))
    assert config.is_futile == (config.end_step != 0 and not is_saving)


@given(save_configs)
def test_json_is_read_back(config):
    """A configuration survives the collections file."""
    assert SaveConfig.from_json(config.to_json()) == config
    assert hash(SaveConfig.from_json(config.to_json())) == hash(config)


def test_json_is_that_of_the_format():
    """Keys come in the order the collections file has."""
    assert SaveConfigMode(4, save_steps=[1]).to_json() == (
        '{"save_interval": 4, "save_steps": [1], "start_step": 0, "end_step": null}'
    )
    assert list(SaveConfig().to_json_dict()) == ["TRAIN", "EVAL", "PREDICT", "GLOBAL"]


def test_modes_without_settings_take_the_defaults():
    """Merging fills what was left open and keeps what was set."""
    own = SaveConfig({modes.TRAIN: SaveConfigMode(3), "eval": None})
    merged = own.merge_default_save_config(SaveConfig(save_interval=7))
    assert merged.get_save_config(modes.TRAIN).save_interval == 3
    assert merged.should_save_step(modes.EVAL, 7)
    with pytest.raises(SMDebugValueError, match="EVAL"):
        own.get_save_config(modes.EVAL)


def test_parse_accepts_what_hooks_accept():
    """A mode's settings stand for all modes; a flat dictionary too."""
    assert SaveConfig.parse(None) is None
    assert SaveConfig.parse(SaveConfigMode(4)) == SaveConfig(save_interval=4) == SaveConfig.parse({"save_interval": 4})
    assert SaveConfig.parse({"TRAIN": {"save_interval": 4}}).get_save_config(modes.TRAIN) == SaveConfigMode(4)
    with pytest.raises(SMDebugTypeError, match="save_config must be"):
        SaveConfig.parse(5)


@pytest.mark.parametrize("make", [SaveConfigMode, SaveConfig])
@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"save_interval": 0}, SMDebugValueError, "save_interval must be at least 1 .got 0."),
        ({"save_interval": "ten"}, SMDebugValueError, "save_interval .*'ten'"),
        ({"save_interval": 2.5}, SMDebugTypeError, "save_interval .*2.5"),
        ({"save_interval": True}, SMDebugTypeError, "save_interval"),
        ({"start_step": -1}, SMDebugValueError, "start_step .*-1"),
        ({"end_step": -1}, SMDebugValueError, "end_step .*-1"),
        ({"save_steps": "1,2"}, SMDebugValueError, "save_steps .*'1,2'"),
        ({"save_steps": [1, "2"]}, SMDebugValueError, "save_steps"),
        ({"save_steps": [-1]}, SMDebugValueError, r"save_steps .* at least 0 .got \[-1\]"),
    ],
)
def test_nonsense_is_refused(make, arguments, error, match):
    """The error has the field and the value."""
    with pytest.raises(error, match=match):
        make(**arguments)


@pytest.mark.parametrize(
    ("make", "given", "match"),
    [
        (SaveConfig, {"trian": SaveConfigMode()}, "TRAIN, EVAL, PREDICT, GLOBAL, or else save_interval"),
        (SaveConfigMode.from_dict, {"save_intervall": 1}, "save_intervall"),
        (SaveConfig, {modes.TRAIN: 5}, "SaveConfigMode or None"),
        (SaveConfig, [1], "must map modes"),
    ],
    ids=["a misspelt mode", "a misspelt key", "a number for a mode", "a list"],
)
def test_unknown_modes_and_keys_are_refused(make, given, match):
    """A misspelt mode or key, or a value of another type, is refused, and the error has what is allowed."""
    with pytest.raises(SMDebugValueError, match=match):
        make(given)


def test_repr_shows_the_settings_once_where_modes_agree():
    """A configuration for all modes reads as one."""
    assert repr(SaveConfig(save_interval=3)).startswith("SaveConfig(save_interval=3")
    assert "'EVAL': None" in repr(SaveConfig({"TRAIN": SaveConfigMode(3)}))
