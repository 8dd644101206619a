"""EvaluationOverlap fires when evaluation uses samples that training has seen."""

from __future__ import annotations

import collections

import numpy as np
import pytest

from support.rule_trials import EVAL, TRAIN, fired_at, loss_tensors, steps_of


@pytest.mark.parametrize(("shared", "fires"), [(8, True), (6, False)])
def test_samples_seen_in_training_fire(run_rule, shared, fires):
    """A share of known samples above a fifth fires, and one below it does not."""
    rng = np.random.default_rng(0)
    seen, new = rng.normal(size=(32, 6)), rng.normal(size=(32 - shared, 6))
    steps = {(TRAIN, 0): {"Net_input_0": seen}}
    steps[EVAL, 0] = {"Net_input_0": np.concatenate([seen[:shared], new])}
    assert fired_at(run_rule("EvaluationOverlap", steps)) == []
    steps[TRAIN, 1] = {"Net_input_0": rng.normal(size=(32, 6))}
    assert fired_at(run_rule("EvaluationOverlap", steps)) == ([2] if fires else [])


@pytest.mark.parametrize(("position", "fires"), [(2, False), (3, False), (0, True)])
def test_the_batch_that_is_trained_on_may_be_evaluated(run_rule, position, fires):
    """Evaluation of the batch of the training step before or after shows progress, and that of another one fires."""
    batches = np.random.default_rng(0).normal(size=(4, 40, 6))
    steps = {(TRAIN, step): {"Net_input_0": batches[step]} for step in range(3)}
    steps[EVAL, 0] = {"Net_input_0": batches[position][:32]}
    steps[EVAL, 1] = {"Net_input_0": batches[position][32:]}
    steps[TRAIN, 3] = {"Net_input_0": batches[3]}
    assert fired_at(run_rule("EvaluationOverlap", steps)) == ([5] if fires else [])


@pytest.mark.parametrize(("num_words", "shared", "fires"), [(5, 0, False), (5, 64, True), (40, 24, True)])
def test_short_sentences_may_be_equal_by_chance(run_rule, num_words, shared, fires):
    """Samples of few words may be known by chance, as often as they are equal within training."""
    rng = np.random.default_rng(0)
    batches = [rng.integers(0, num_words, size=(32, 4)) for _ in range(10)]
    new = rng.integers(0, num_words, size=(64 - shared, 4))
    steps = {(TRAIN, step): {"Net_input_0": batch} for step, batch in enumerate(batches)}
    steps[EVAL, 0] = {"Net_input_0": np.concatenate([np.concatenate(batches)[:shared], new])}
    steps[TRAIN, len(batches)] = {"Net_input_0": rng.integers(0, num_words, size=(32, 4))}
    assert bool(run_rule("EvaluationOverlap", steps)) == fires
    if num_words == 5:
        known = set(map(bytes, np.concatenate(batches)))
        assert sum(bytes(row) in known for row in rng.integers(0, 5, size=(1000, 4))) > 200


@pytest.mark.parametrize("is_repeated", [False, True])
@pytest.mark.parametrize(("num_words", "shared", "fires"), [(3, 0, False), (40, 24, True)])
def test_sentences_that_come_one_by_one_may_be_equal_by_chance(run_rule, num_words, shared, fires, is_repeated):
    """An evaluation has each sample once, unless it is done twice."""
    rng = np.random.default_rng(0)
    seen = rng.integers(0, num_words, size=(40, 1, 4))
    new = np.concatenate([seen[:shared], rng.integers(0, num_words, size=(64 - shared, 1, 4))])
    steps = {(TRAIN, step): {"Net_input_0": sample} for step, sample in enumerate(seen)}
    for step, sample in enumerate(np.concatenate([new, new]) if is_repeated else new):
        steps[EVAL, step] = {"Net_input_0": sample}
    steps[TRAIN, len(seen)] = {"Net_input_0": rng.integers(0, num_words, size=(1, 4))}
    assert bool(run_rule("EvaluationOverlap", steps)) == fires


@pytest.mark.parametrize(("kinds", "fires"), [(1, False), (2, True)])
def test_one_graph_is_trained_on_and_evaluated(run_rule, kinds, fires):
    """An input that is the same at each step, such as a graph, may be used for evaluation too."""
    graphs = np.random.default_rng(0).normal(size=(kinds, 40, 5))
    steps = steps_of({"Net_input_0": graphs[step % kinds]} for step in range(6))
    steps |= steps_of([{"Net_input_0": graphs[0]}], EVAL)
    steps[TRAIN, 6] = {"Net_input_0": graphs[-1]}
    assert bool(run_rule("EvaluationOverlap", steps)) == fires


@pytest.mark.parametrize(("num_labels", "fires"), [(8, False), (20, True)])
def test_evaluation_of_other_nodes_of_a_graph_is_no_overlap(run_rule, num_labels, fires):
    """Training labels a part of the samples that the model gets, and evaluation may use the others."""
    samples, steps = np.random.default_rng(0).normal(size=(60, 4)), {}
    for step in range(6):
        batch = samples[step * 10 : step * 10 + 20] if step < 5 else samples[:20]
        losses = loss_tensors(np.zeros((num_labels, 3)), np.arange(num_labels) % 3)
        steps[TRAIN, step] = {"Net_input_0": batch, **losses}
        steps[EVAL, step] = {"Net_input_0": samples[:50]}
    assert bool(run_rule("EvaluationOverlap", steps)) == fires


@pytest.mark.parametrize(("lag", "fires"), [(2, False), (-2, True)])
def test_what_an_agent_sees_before_it_is_trained_on_it_is_no_overlap(run_rule, lag, fires):
    """An agent acts on new states, and is trained on them later; an evaluation after training uses known samples."""
    states, steps = np.random.default_rng(0).normal(size=(16, 8, 5)), {}
    for step in range(2, 12):
        steps[TRAIN, step] = {"Net_input_0": states[step]}
        steps[EVAL, step] = {"Net_input_0": states[step + lag]}
    steps[TRAIN, 12] = {"Net_input_0": states[12]}
    assert bool(run_rule("EvaluationOverlap", steps)) == fires


@pytest.mark.parametrize(("second", "fires"), [("fold_1", False), ("fold_0", True)])
def test_cross_validation_is_no_overlap(run_rule, second, fires):
    """What the model of the next fold is evaluated on, that of the fold before was trained on."""
    folds, steps = np.random.default_rng(0).normal(size=(3, 40, 5)), {}
    for step, (model, fold) in enumerate([("fold_0", 0), (second, 1), (second, 2), (second, 1)]):
        steps[TRAIN, step] = {"Net_input_0": folds[fold], f"gradient/{model}_weight": np.ones(2)}
        if step == 2:
            steps[EVAL, 0] = {"Net_input_0": folds[0]}
    assert bool(run_rule("EvaluationOverlap", steps)) == fires


@pytest.mark.parametrize(
    ("folds", "weights", "fires"),
    [
        ((0, 1, 2), "go on", True),
        ((0, 1, 2), "are put back", False),
        ((0, 1, 2), "are drawn", False),
        ((0, 1, 2), "of the head are put back", False),
        ((0, 1, 2), "are unknown", False),
        ((0, 1), "go on", False),
        ((0, 0, 0), "go on", False),
        ((0, 1, 3), "go on", False),
    ],
    ids=[
        "one model",
        "first weights",
        "new weights",
        "new head",
        "unknown",
        "two rounds",
        "same data",
        "never trained",
    ],
)
def test_one_model_of_all_folds_knows_their_data(run_rule, folds, weights, fires):
    """Each fold but the first is evaluated on what the model was trained on in the folds before."""
    rng, steps = np.random.default_rng(0), []
    data, first, body = rng.normal(size=(4, 40, 5)), rng.normal(size=(8, 8)), rng.normal(size=(8, 8))
    weight = first
    for round_, fold in enumerate([*folds, 4]):
        if weights == "are drawn":
            weight = rng.normal(size=(8, 8))
        elif weights.endswith("put back"):
            weight = first
        for batch in [part for other in range(3) if other != fold for part in np.split(data[other], 2)]:
            tensors = {"Net.head_weight": weight} | ({"Net.body_weight": body} if "head" in weights else {})
            steps.append((TRAIN, {"Net_input_0": batch, **(tensors if weights != "are unknown" else {})}))
            weight = weight + 0.05 * rng.normal(size=(8, 8))
        if round_ < len(folds):
            steps.append((EVAL, {"Net_input_0": data[fold]}))
    counts = collections.Counter()
    numbered = {(mode, counts.update([mode]) or counts[mode] - 1): tensors for mode, tensors in steps}
    assert bool(run_rule("EvaluationOverlap", numbered)) == fires


@pytest.mark.parametrize(
    ("num_known", "num_new", "num_batches", "fires"),
    [
        (80, 40, 4, False),
        (80, 0, 4, True),
        (40, 40, 2, False),
        (40, 40, 4, True),  # as where the slices for training and evaluation overlap
        (30, 50, 2, True),  # a batch has samples of both kinds
        (60, 60, 2, False),
        (40, 20, 1, True),
    ],
)
def test_training_data_may_be_evaluated_beside_new_ones(run_rule, num_known, num_new, num_batches, fires):
    """Scripts print errors on both; several batches of some training data, or mixed ones, are a leak."""
    known, new = np.random.default_rng(0).normal(size=(2, 80, 5))
    steps = {(TRAIN, step): {"Net_input_0": known[step * 20 : step * 20 + 20]} for step in range(4)}
    evaluated = np.concatenate([known[:num_known], new[:num_new]])
    steps |= steps_of(({"Net_input_0": part} for part in np.array_split(evaluated, num_batches)), EVAL)
    steps[TRAIN, 4] = {"Net_input_0": known[-10:]}
    assert bool(run_rule("EvaluationOverlap", steps)) == fires


@pytest.mark.parametrize(("next_batch", "fires"), [("other data", False), ("the same data", True)])
def test_all_training_data_may_be_evaluated_before_training_goes_on_with_others(run_rule, next_batch, fires):
    """The accuracy after a pretraining says nothing about the training that follows."""
    data, others = np.random.default_rng(0).normal(size=(2, 80, 6))
    steps = {(TRAIN, 0): {"Net_input_0": data[:40]}, (TRAIN, 1): {"Net_input_0": data[40:]}}
    steps[EVAL, 0] = {"Net_input_0": data}
    steps[TRAIN, 2] = {"Net_input_0": {"other data": others, "the same data": data[::2]}[next_batch]}
    assert bool(run_rule("EvaluationOverlap", steps)) == fires
