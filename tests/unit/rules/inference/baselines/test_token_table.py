"""What follows each token is counted without what is to be predicted."""

from __future__ import annotations

import collections

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.rules.inference.baselines.token_table import PRIOR, TokenTables
from sagemaker_debug_ext.rules.reading.step_view import StepReader
from support.rule_trials import EVAL, TRAIN, loss_tensors, memory_trial

NUM_TOKENS = 8


def observed(steps):
    """Return the cross entropies of steps."""
    reader, tables = StepReader(memory_trial(steps)), TokenTables()
    for step in reader.trial.steps():
        tables.observe(reader.at(step))
    return tables.cross_entropies()


def batch(rng, is_time_first=False):
    """Return random tokens of eight sequences of eight places, and their classes."""
    tokens = rng.permuted(np.arange(64) % NUM_TOKENS).reshape(8, 8)
    classes = (tokens + rng.integers(1, NUM_TOKENS, (8, 8))) % NUM_TOKENS
    return (tokens.T, classes.T) if is_time_first else (tokens, classes)


def tensors_of(tokens, classes, scores=None):
    scores = np.zeros((classes.size, NUM_TOKENS)) if scores is None else scores
    return {"Net_input_0": tokens, **loss_tensors(scores, classes.reshape(-1))}


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(1, 25))
def test_each_pair_is_predicted_from_all_others(seed, is_time_first, num_different):
    """A pass that repeats the first one is predicted from it, without the pair itself."""
    rng = np.random.default_rng(seed)
    batches = [batch(rng, is_time_first) for _ in range(num_different)]
    found = observed({(TRAIN, step): tensors_of(*batches[step % num_different]) for step in range(50)})
    pairs = [pair for tokens, classes in batches for pair in zip(tokens.flat, classes.flat, strict=True)]
    of_pairs, of_tokens = collections.Counter(pairs), collections.Counter(token for token, _ in pairs)
    of_classes = collections.Counter(label for _, label in pairs)
    expected = []
    for step in range(30, 50):
        for token, label in zip(*(part.flat for part in batches[step % num_different]), strict=True):
            share = (of_classes[label] + 1) / (len(pairs) + NUM_TOKENS)
            own = (of_pairs[token, label] - 1 + PRIOR * share) / (of_tokens[token] - 1 + PRIOR)
            expected.append(-np.log(own))
    assert found["CrossEntropyLoss_output_0"].table == pytest.approx(np.mean(expected))


def test_the_cross_entropy_of_a_model_is_the_lower_one_of_training_and_evaluation():
    """Dropout makes that of training worse."""
    rng = np.random.default_rng(0)
    steps = {(TRAIN, step): tensors_of(*batch(rng)) for step in range(20)}
    assert observed(steps)["CrossEntropyLoss_output_0"].model == pytest.approx(np.log(NUM_TOKENS))
    tokens, classes = batch(rng)
    known = tensors_of(tokens, classes, 9 * np.eye(NUM_TOKENS)[classes.reshape(-1)])
    assert observed({**steps, (EVAL, 0): known})["CrossEntropyLoss_output_0"].model < 0.01


@pytest.mark.parametrize(
    "change",
    [
        lambda tokens, classes: (tokens, tokens),
        lambda tokens, classes: (tokens / 2, classes),
        lambda tokens, classes: (tokens - 1, classes),
        lambda tokens, classes: (tokens[:, :4], classes),
        lambda tokens, classes: (tokens % 3, classes),
        lambda tokens, classes: (tokens * 1_000_000, classes),
        lambda tokens, classes: (tokens, np.full_like(classes, -100)),
    ],
    ids=["copies", "numbers", "negative", "other places", "few tokens", "too many tokens", "padding"],
)
def test_other_inputs_and_targets_are_left_alone(change):
    """There is no table of numbers, nor of sequences that have other places than the targets."""
    rng = np.random.default_rng(0)
    assert observed({(TRAIN, step): tensors_of(*change(*batch(rng))) for step in range(30)}) == {}


def test_a_table_that_becomes_too_large_says_nothing_of_earlier_steps():
    """By then, the model may have learnt much more."""
    rng = np.random.default_rng(0)
    pairs = [batch(rng) for _ in range(31)]
    pairs[-1] = (pairs[-1][0] * 1_000_000, pairs[-1][1])
    steps = {(TRAIN, step): tensors_of(*pair) for step, pair in enumerate(pairs)}
    assert observed({key: tensors for key, tensors in steps.items() if key[1] < 30})
    assert observed(steps) == {}
