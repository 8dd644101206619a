"""What the recommended rules find in faulty jobs of MXNet, and that sound ones leave them silent."""

from __future__ import annotations

from typing import Any, NamedTuple

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon
from mxnet.gluon import nn

import sagemaker_debug_ext.mxnet as smd
from sagemaker_debug_ext.rules.causes import likely_causes

NUM_TRAINING = 512
RANDOM = np.random.default_rng(3)
INPUTS = RANDOM.normal(size=(768, 12)).astype("float32")
SCORES = INPUTS @ RANDOM.normal(size=(12, 3)).astype("float32")
CLASSES = SCORES.argmax(axis=1)
NUMBERS = SCORES[:, 0] / 3
ADAM = ("adam", {"learning_rate": 1e-2})


def sgd(rate, **options):
    return "sgd", {"learning_rate": rate, **options}


class Job(NamedTuple):
    """A job: how its layers, its optimizer and its data are made."""

    layers: Any
    optimizer: Any = sgd(0.1)
    loss: Any = gluon.loss.SoftmaxCrossEntropyLoss
    inputs: Any = lambda: INPUTS
    targets: Any = lambda: CLASSES
    shuffle: bool = True
    trained: Any = slice(None)
    batch: int = 16


def dense(activation="relu", depth=2, initialiser=None, bias="zeros", width=3):
    """Return a function that makes fully connected layers."""

    def make():
        hidden = {"activation": activation, "weight_initializer": initialiser, "bias_initializer": bias}
        return [*(nn.Dense(24, **hidden) for _ in range(depth)), nn.Dense(width)]

    return make


def normalised():
    return [nn.Dense(24), nn.BatchNorm(), nn.Activation("relu"), nn.Dropout(0.3), *dense(depth=1)()]


def from_sigmoid():
    return gluon.loss.SigmoidBinaryCrossEntropyLoss(from_sigmoid=True)


def sorted_by_class(values):
    order = np.argsort(CLASSES[:NUM_TRAINING], kind="stable")
    return np.concatenate([values[:NUM_TRAINING][order], values[NUM_TRAINING:]])


def with_gap():
    inputs = INPUTS.copy()
    inputs[300, 2] = np.nan
    return inputs


SOUND = {
    "dense": Job(dense()),
    "tanh": Job(dense("tanh"), ADAM),
    "momentum": Job(dense(), sgd(0.05, momentum=0.9)),
    "normalised": Job(normalised, ADAM),
    "large batches": Job(dense(), sgd(0.2), batch=128),
    "numbers": Job(dense(width=1), ADAM, gluon.loss.L2Loss, targets=lambda: NUMBERS),
    "yes or no": Job(
        dense(width=1), ADAM, gluon.loss.SigmoidBinaryCrossEntropyLoss, targets=lambda: NUMBERS > 0
    ),
    "shares": Job(
        lambda: [nn.Dense(24, "relu"), nn.Dense(1, "sigmoid")], ADAM, from_sigmoid, targets=lambda: NUMBERS > 0
    ),
}  # fmt: skip
FAULTS = {
    "dead ReLU": (Job(dense(bias=mx.init.Constant(-8.0))), "DeadRelu", "dead units"),
    "too high rate": (Job(dense(), sgd(60.0)), "GradientOutlier", "learning rate too high"),
    "too low rate": (Job(dense(), sgd(1e-6)), "LearningRateTooLow", "learning rate too low"),
    "exploding": (Job(dense(initialiser=mx.init.Normal(4.0))), "InitialLoss", "initialisation"),
    "not trained": (Job(dense(), trained=slice(1, 3)), "FrozenParameters", "parameters not trained"),
    "vanishing": (
        Job(dense("sigmoid", depth=7, initialiser=mx.init.Normal(0.02))), "ActivationCollapse", "initialisation"
    ),
    "saturated tanh": (
        Job(dense("tanh", initialiser=mx.init.Normal(6.0)), sgd(0.01)), "SaturatedActivation", "initialisation"
    ),
    "gap in the inputs": (Job(dense(), inputs=with_gap), "NonFiniteOrigin", "not finite"),
    "sorted": (
        Job(
            dense(), inputs=lambda: sorted_by_class(INPUTS), targets=lambda: sorted_by_class(CLASSES), shuffle=False
        ),
        "LabelMix", "sampling",
    ),
    "equal weights": (Job(dense(initialiser=mx.init.Constant(0.1))), "UnbrokenSymmetry", "initialisation"),
    "not scaled": (Job(dense(), ADAM, inputs=lambda: 300 * INPUTS), "InputScale", "inputs"),
    "wrong labels": (Job(dense(), targets=lambda: RANDOM.integers(0, 3, 768)), "NoSkill", "labels"),
    "no activation": (Job(dense(None, depth=3)), "MissingActivation", "architecture"),
    "softmax twice": (
        Job(lambda: [*dense(depth=1)(), nn.HybridLambda("softmax")]), "LossInputMismatch",
        "loss or output",
    ),
}  # fmt: skip


@pytest.fixture
def evaluate(make_hook, open_trial, recommended_issues):
    """Return a function that runs a job of two epochs with the hook, and gives what the recommended rules find."""

    def run(job):
        mx.random.seed(1)
        np.random.seed(1)
        random = np.random.default_rng(1)
        inputs, targets = job.inputs().astype("float32"), np.asarray(job.targets()).astype("float32")
        net, loss = nn.HybridSequential(), job.loss()
        net.add(*job.layers())
        net.initialize(mx.init.Xavier())
        trainer = gluon.Trainer(net[job.trained].collect_params(), *job.optimizer)
        hook = make_hook(save_all=True)
        hook.register_block(net)
        hook.register_block(loss)

        def forward(rows):
            return loss(net(mx.nd.array(inputs[rows])), mx.nd.array(targets[rows]))

        for _ in range(2 * job.batch // 16):
            order = random.permutation(NUM_TRAINING) if job.shuffle else np.arange(NUM_TRAINING)
            hook.set_mode(smd.modes.TRAIN)
            for rows in np.split(order, NUM_TRAINING // job.batch):
                with autograd.record():
                    value = forward(rows)
                value.backward()
                trainer.step(job.batch, ignore_stale_grad=True)
            hook.set_mode(smd.modes.EVAL)
            for start in range(NUM_TRAINING, len(inputs), 64):
                forward(slice(start, start + 64))
        return recommended_issues(open_trial(hook))

    return run


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_job_leaves_all_rules_silent(evaluate, name):
    """Whatever its layers, its loss and its data are."""
    assert [str(issue.message) for issue in evaluate(SOUND[name])] == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_job_is_found_and_its_cause_named(evaluate, name):
    """By the rule that is for it."""
    job, rule, cause = FAULTS[name]
    issues = evaluate(job)
    assert rule in {issue.rule for issue in issues}
    assert cause in [likely.name for likely in likely_causes(issues)][:2]
