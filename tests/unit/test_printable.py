"""A name in a trial cannot change how a terminal or a log shows the text around it."""

from __future__ import annotations

import pickle
import traceback

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext import errors
from sagemaker_debug_ext._printable import printable, printable_name
from sagemaker_debug_ext.cli.main import main
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.writer import NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

EVIL = "a\x1b]0;owned\x07\x1b[31m\r\x08\x9b2J\u202eb\u2028\udc80"


@given(st.text(st.characters(codec=None)))
def test_printable_when_any_text_then_only_characters_that_are_shown(text):
    """Nothing else is left, and it can be encoded; the text of an ordinary name stays."""
    shown = printable(text)
    assert all(character.isprintable() or character in "\n\t" or character.isspace() for character in shown)
    assert not set(shown) & set("\x1b\r\x07\x08\x0b\x0c\x85\u2028\u2029")
    shown.encode()
    assert printable(shown) == shown
    assert "\n" not in printable_name(text)


@pytest.mark.parametrize("text", ["layer.0/kernel:0", "Gewicht ä 重み", "a\u00a0b", "two\nlines\tand a tab"])
def test_printable_when_text_is_ordinary_then_unchanged(text):
    """Names of any language, and the layout of our own texts, stay as they are."""
    assert printable(text) == text


def is_raw(text):
    return bool(set(text) & set("\x1b\x07\r\x08\x9b\u202e\u2028\udc80"))


@pytest.mark.parametrize(
    "error",
    [
        errors.SMDebugValueError(f"tensor {EVIL} is odd"),
        errors.TensorUnavailable(EVIL),
        errors.StorageError(EVIL, EVIL),
        errors.CorruptRecordError(EVIL, EVIL),
        errors.TrialNotFoundError(EVIL, EVIL),
        errors.RuleEvaluationConditionMet(EVIL, 3),
    ],
    ids=lambda error: type(error).__name__,
)
def test_error_when_its_arguments_hold_control_characters_then_text_and_traceback_are_escaped(error):
    """All errors of ours, also those that come back from another process; their arguments stay as they are."""
    for copied in (error, pickle.loads(pickle.dumps(error))):
        assert not is_raw(str(copied))
        assert not is_raw("".join(traceback.format_exception_only(type(copied), copied)))
        assert r"\x1b" in str(copied)
        assert EVIL in "".join(map(str, copied.args))


@pytest.fixture
def trial_folder(tmp_path):
    """A trial whose names hold control characters, with a damaged file."""
    writer = TrialWriter(LocalBackend(tmp_path))
    name = EVIL.replace("\udc80", "") + "\nforged line"
    writer.write_collections([{"name": name, "include_regex": ["a"], "tensor_names": []}], 1)
    for step in range(3):
        data = StepData(step, ModeKeys.TRAIN, step)
        data.tensors.append(NamedTensor(name, np.full(2, step, np.float32), 0.0))
        writer.write_step(data)
    writer.end()
    (tmp_path / "index/000000000/000000000007_worker\x1b[31m.json").write_text("{")
    return tmp_path, name


def test_commands_when_names_hold_control_characters_then_nothing_reaches_the_terminal_raw(
    trial_folder, capfd, caplog, recwarn
):
    """Listing, showing, evaluating and failing."""
    folder, name = trial_folder
    commands = [
        ["ls", str(folder)],
        ["ls", str(folder), "--collection", "\x1b[31m"],
        ["show", str(folder), name],
        ["show", str(folder), name, "--step", "1"],
        ["show", str(folder), "\x1b[31m"],
        ["rules", "run", str(folder), "UnchangedTensor"],
        ["rules", "run", str(folder), "\x1b[31m"],
        ["ls", str(folder), "--no-such-option", "\x1b[31m"],
        ["ls", str(folder / "\x1b[31m")],
    ]
    for command in commands:
        main(command)
        out, err = capfd.readouterr()
        assert not is_raw(out + err), command
        assert "\nforged line" not in out + err, command
    assert not is_raw(caplog.text)
    assert not any(is_raw(str(warning.message)) for warning in recwarn)


def test_trial_when_names_hold_control_characters_then_problems_and_logs_are_escaped(trial_folder, caplog):
    """The problem's path is what it is; its text is what can be shown."""
    folder, name = trial_folder
    trial = create_trial(folder)
    (problem,) = trial.problems()
    assert "\x1b" in problem.path
    assert not is_raw(str(problem))
    trial.collection("\x1b[31m")
    trial.tensor_names(collection=name)
    with pytest.raises(errors.TensorUnavailable) as caught:
        trial.tensor("\x1b[31m")
    assert not is_raw(str(caught.value) + caplog.text)
