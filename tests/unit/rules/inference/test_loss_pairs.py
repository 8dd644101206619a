"""Validation and training losses are paired by their names, or by rounds of evaluation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.rules.inference.loss_pairs import EvaluationRounds, loss_pairs
from support.rule_trials import EVAL, GLOBAL, PREDICT, TRAIN


def test_pairs_are_found_by_name():
    """Prefixes of both kinds are recognised with either separator, and a plain name counts as training."""
    names = [
        *("train-auc", "validation-auc", "training_x", "val_x", "loss", "val_loss", "eval-loss", "test_loss"),
        *("valid-alone", "train-auc2", "a_validation-auc"),
    ]
    assert loss_pairs(names) == {
        "validation-auc": "train-auc",
        "val_x": "training_x",
        "val_loss": "loss",
        "eval-loss": "loss",
        "test_loss": "loss",
    }


def test_a_prefixed_training_loss_goes_before_a_plain_one():
    """A training loss with a prefix is preferred to one without."""
    assert loss_pairs(["X", "train-X", "training-X", "validation-X"]) == {"validation-X": "train-X"}


def naive_rounds(history):
    """Return what can be compared at each step, by reading the whole history again."""
    found = []
    for position, (mode, loss) in enumerate(history):
        before = history[: position + 1]
        if mode is not EVAL or loss is None:
            found.append(None)
            continue
        relevant = [entry for entry in before if entry[0] in (TRAIN, EVAL)]
        first_of_round = next((start for start in range(len(relevant), 0, -1) if relevant[start - 1][0] is TRAIN), 0)
        last_round_end = next((end for end in range(first_of_round, 0, -1) if relevant[end - 1][0] is EVAL), 0)
        validation = [value for _, value in relevant[first_of_round:] if value is not None]
        training = [value for _, value in relevant[last_round_end:first_of_round] if value is not None]
        comparable = bool(validation and training)
        found.append((sum(validation) / len(validation), sum(training) / len(training)) if comparable else None)
    return found


@given(
    st.lists(
        st.tuples(st.sampled_from([TRAIN, TRAIN, EVAL, EVAL, PREDICT, GLOBAL]), st.none() | st.integers(0, 9)),
        max_size=25,
    )
)
def test_rounds_equal_those_of_the_definition(history):
    """Whatever the order of modes, and whether or not the loss was saved at a step."""
    rounds = EvaluationRounds()
    observed = [rounds.observe(mode, {} if loss is None else {"loss": float(loss)}) for mode, loss in history]
    assert [losses.get("loss") for losses in observed] == naive_rounds(history)


@given(
    st.lists(
        st.tuples(st.sampled_from([TRAIN, TRAIN, EVAL, EVAL, PREDICT]), st.none() | st.integers(0, 9)), max_size=25
    )
)
def test_whole_rounds_are_the_last_comparisons_before_training_goes_on(history):
    """A round that the job ends with is never whole."""
    rounds = EvaluationRounds()
    observed = [rounds.observe_whole(mode, {} if loss is None else {"loss": float(loss)}) for mode, loss in history]
    parts, latest = naive_rounds(history), None
    for (mode, loss), part, whole in zip(history, parts, observed, strict=True):
        latest = part or latest
        if mode is TRAIN:
            assert whole.get("loss") == (None if loss is None else latest)
            latest = None
        else:
            assert whole == {}
