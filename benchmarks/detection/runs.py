"""The runs of the benchmark: what is wrong in each, and which rules would name the family of the fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from jobs import Cnn, Job, Linear1, Mlp, Rnn, Transformer, make, run, run_boosting, run_replicas
from torch import nn

FAMILIES = {
    "learning rate too high": {
        "LearningRateTooHigh", "LossSpike", "GradientOutlier", "NonFiniteOrigin", "ExplodingTensor",
    },
    "learning rate too low": {"LearningRateTooLow"},
    "initialisation": {
        "ActivationCollapse", "VanishingGradient", "GradientOutlier", "PoorWeightInitialization", "SaturatedActivation",
        "DeadRelu", "FrozenParameters", "AllZero",
    },
    "loss or output": {"LossInputMismatch"},
    "input scale": {"InputScale", "CheckInputImages"},
    "labels": {"LossPlateau", "PredictionCollapse", "Confusion", "GeneralizationGap", "LossNotDecreasing"},
    "parameters not trained": {"FrozenParameters", "UnchangedTensor", "WeightUpdateRatio"},
    "gradients not reset": {"GradientsNotReset"},
    "dead units": {"DeadRelu", "ActivationCollapse"},
    "exploding gradients": {"GradientOutlier", "NonFiniteOrigin", "ExplodingTensor", "LossSpike"},
    "overfitting": {"GeneralizationGap", "Overfit", "Overtraining"},
    "wrong mode": {"TrainEvalMixup"},
    "repeated data": {"DuplicateBatches"},
    "replicas": {"ReplicaDivergence"},
    "class imbalance": {"ClassImbalance", "PredictionCollapse", "Confusion"},
    "not finite": {"NonFiniteOrigin", "ExplodingTensor"},
    "trees": {"TreeDepth", "FeatureImportanceOverweight", "GeneralizationGap", "Overfit", "Overtraining"},
}  # fmt: skip


class Maximised(nn.CrossEntropyLoss):
    """A cross entropy with the wrong sign."""

    def forward(self, scores, targets):
        return -super().forward(scores, targets)


class Run(NamedTuple):
    """One run: its name, its fault's family (empty if it is sound), and what makes its trial."""

    name: str
    family: str
    make_trial: Callable[[str], None]
    split: str


RUNS: list[Run] = []
_SEED = 100


def _split() -> str:
    """Return the half that the next run belongs to: they alternate, so every family is in both."""
    return "tuning" if len(RUNS) % 2 == 0 else "test"


def sound(task: str, change: Callable[[Job], None] | None = None, name: str = "") -> None:
    seed = _SEED + len(RUNS)

    def make_trial(folder: str) -> None:
        job = make(task, seed)
        if change:
            change(job)
        run(job, folder)

    RUNS.append(Run(f"{task} {name or 'as it should be'}", "", make_trial, _split()))


def fault(family: str, name: str, *tasks: str):
    """Register a change of a job as a fault, for each of some tasks."""
    assert family in FAMILIES, family

    def register(change: Callable[[Job], None]) -> Callable[[Job], None]:
        for task in tasks:
            seed = _SEED + len(RUNS)

            def make_trial(folder: str, task: str = task, seed: int = seed) -> None:
                job = make(task, seed)
                change(job)
                run(job, folder)

            RUNS.append(Run(f"{task}: {name}", family, make_trial, _split()))
        return change

    return register


def other(family: str, name: str, make_trial: Callable[[str], None]) -> None:
    RUNS.append(Run(name, family, make_trial, _split()))


def setting(**values):
    def change(job: Job) -> None:
        for name, value in values.items():
            setattr(job, name, value)

    return change


# --- sound runs ------------------------------------------------------------------------------------------------------

ALL_TASKS = ("mlp", "mlp_tanh", "mlp_norm", "mlp_deep", "cnn", "cnn_plain", "rnn", "gru", "lstm", "transformer",
             "transformer_drop", "regression")  # fmt: skip
for each in ALL_TASKS:
    sound(each)
    sound(each, name="with another seed")
for each in ("mlp", "cnn", "regression"):
    sound(each, setting(optimizer="momentum", lr=0.02), "with momentum")
for each in ("mlp_tanh", "gru"):
    sound(each, setting(weight_decay=1e-3, clip=1.0), "with weight decay and clipping")
sound("mlp", setting(optimizer="sgd", lr=0.1), "with plain gradient descent")
sound("transformer", setting(lr=1e-3), "with a cautious learning rate")
other("", "boosted trees as they should be", lambda folder: run_boosting(folder, 1))
other("", "boosted trees with another seed", lambda folder: run_boosting(folder, 2))
other("", "boosted trees of depth 2", lambda folder: run_boosting(folder, 3, depth=2))
other("", "boosted trees with more data", lambda folder: run_boosting(folder, 4, rows=800))
other("", "two replicas in step", lambda folder: run_replicas(folder, 5, True))
other("", "two replicas in step, another seed", lambda folder: run_replicas(folder, 6, True))

# --- faults ----------------------------------------------------------------------------------------------------------

fault("learning rate too high", "Adam at 1.0", "mlp", "cnn", "gru", "transformer", "regression")(setting(lr=1.0))
fault("learning rate too high", "gradient descent at 20", "mlp", "cnn_plain", "regression")(
    setting(lr=20.0, optimizer="sgd")
)
fault("learning rate too low", "Adam at 1e-7", "mlp", "cnn", "lstm", "transformer", "regression")(setting(lr=1e-7))
fault("learning rate too low", "gradient descent at 1e-6", "mlp_tanh", "cnn_plain")(setting(lr=1e-6, optimizer="sgd"))
fault("gradients not reset", "zero_grad is missing", "mlp", "cnn", "gru", "regression", "transformer")(
    setting(zero_grad=False, optimizer="sgd", lr=0.01)
)
fault("gradients not reset", "zero_grad is missing, with Adam", "mlp_tanh", "lstm")(setting(zero_grad=False))
fault("repeated data", "one batch for ever", "mlp", "cnn", "transformer")(setting(same_batch=1))
fault("repeated data", "three batches for ever", "gru", "regression")(setting(same_batch=3))
fault("wrong mode", "evaluated in training mode", "mlp_norm", "cnn")(setting(eval_mode=False))
fault("wrong mode", "trained in evaluation mode", "mlp_norm", "cnn")(setting(train_mode=False))
fault("wrong mode", "evaluated in training mode", "transformer_drop")(setting(eval_mode=False))


@fault("initialisation", "all weights 0", "mlp", "cnn", "mlp_tanh")
def _(job):
    for parameter in job.model.parameters():
        nn.init.zeros_(parameter)


@fault("initialisation", "weights 40 times too large", "mlp_tanh", "mlp")
def _(job):
    with torch.no_grad():
        for parameter in job.model.parameters():
            parameter.mul_(40)


@fault("initialisation", "weights 1000 times too small", "mlp_deep", "cnn_plain")
def _(job):
    with torch.no_grad():
        for parameter in job.model.parameters():
            parameter.mul_(1e-3)


@fault("initialisation", "deep and of sigmoids", "mlp")
def _(job):
    job.model = Mlp(depth=8, act="sigmoid")


@fault("loss or output", "softmax before cross entropy", "mlp")
def _(job):
    job.model = Mlp(final=nn.Softmax(dim=1))


@fault("loss or output", "softmax before cross entropy", "cnn")
def _(job):
    job.model = Cnn(final=nn.Softmax(dim=1))


@fault("loss or output", "sigmoid before cross entropy", "gru")
def _(job):
    job.model = Rnn(final=nn.Sigmoid())


@fault("loss or output", "ReLU before cross entropy", "transformer", "transformer_drop")
def _(job):
    job.model = Transformer(final=nn.ReLU())


@fault("loss or output", "negative log likelihood of plain scores", "mlp", "cnn")
def _(job):
    job.loss = nn.NLLLoss()


@fault("loss or output", "sigmoid at the output of a regression", "regression")
def _(job):
    job.model = Mlp(6, outputs=1, final=nn.Sigmoid())


@fault("loss or output", "ReLU at the output of a regression", "regression")
def _(job):
    job.model = Mlp(6, outputs=1, final=nn.ReLU())


@fault("loss or output", "targets of another shape", "regression")
def _(job):
    job.y, job.y_eval = job.y[:, 0], job.y_eval[:, 0]


@fault("input scale", "inputs 200 times too large", "mlp", "cnn", "gru")
def _(job):
    job.x, job.x_eval = job.x * 200, job.x_eval * 200


@fault("input scale", "inputs 100,000 times too small", "mlp_tanh", "regression")
def _(job):
    job.x, job.x_eval = job.x * 1e-5, job.x_eval * 1e-5


@fault("labels", "labels in another order than inputs", "mlp", "cnn", "gru", "transformer")
def _(job):
    job.y = job.y[torch.randperm(len(job.y))]


@fault("labels", "all labels the same", "cnn", "mlp_norm")
def _(job):
    job.y = torch.zeros_like(job.y)


@fault("labels", "targets in another order than inputs", "regression")
def _(job):
    job.y = job.y[torch.randperm(len(job.y))]


@fault("parameters not trained", "only the head is trained", "mlp", "cnn", "transformer")
def _(job):
    job.trained = lambda model: model.head.parameters()


@fault("parameters not trained", "a layer without gradients", "gru", "mlp_deep")
def _(job):
    (next(iter(job.model.children())).requires_grad_)(False)


@fault("parameters not trained", "features detached", "cnn_plain")
def _(job):
    job.model.pool.register_forward_hook(lambda _, __, output: output.detach())


@fault("dead units", "biases far below zero", "mlp")
def _(job):
    with torch.no_grad():
        job.model.fc0.bias.fill_(-30)


@fault("dead units", "biases far below zero", "cnn_plain")
def _(job):
    with torch.no_grad():
        job.model.conv2.bias.fill_(-30)


@fault("exploding gradients", "a recurrent layer that grows", "rnn", "lstm")
def _(job):
    job.model = Linear1(scale=3.0)
    job.lr = 1e-3


@fault("overfitting", "few data and a large model", "mlp", "cnn", "transformer", "regression")
def _(job):
    job.x, job.y = job.x[:32], job.y[:32] if job.task == "regression" else job.y[:32].roll(5)
    if job.task in ("mlp", "regression"):
        job.model = Mlp(job.x.shape[1], hidden=128, outputs=4 if job.task == "mlp" else 1)
    job.lr = 1e-2


@fault("class imbalance", "one class in 30", "mlp", "gru")
def _(job):
    keep = (job.y == 0) | (torch.rand(len(job.y)) < 0.03)
    job.x, job.y = job.x[keep], job.y[keep]
    times = -(-200 // len(job.x))
    job.x, job.y = job.x.repeat(times, *[1] * (job.x.ndim - 1)), job.y.repeat(times)


@fault("not finite", "NaN among the inputs", "mlp", "cnn")
def _(job):
    job.x = job.x.clone()
    job.x[17] = float("nan")


@fault("not finite", "logarithm of zero in the middle", "regression")
def _(job):
    job.model.relu0.register_forward_hook(lambda _, __, output: torch.log(output))


other("replicas", "replicas that never average", lambda folder: run_replicas(folder, 7, False))
other("replicas", "replicas that start apart", lambda folder: run_replicas(folder, 8, True, same_start=False))
other("replicas", "replicas that miss one average", lambda folder: run_replicas(folder, 9, True, skip=20))
other("trees", "boosted trees that learn noise", lambda folder: run_boosting(folder, 10, depth=7, noise=1.0, rate=0.4))
other("trees", "boosted trees with a leaking feature", lambda folder: run_boosting(folder, 11, leak=True, depth=2))
other("trees", "boosted trees far too deep", lambda folder: run_boosting(folder, 12, depth=9, rate=0.5, noise=0.3))
other("class imbalance", "boosted trees, one class in 20", lambda folder: run_boosting(folder, 13, imbalance=True))

# --- runs that nothing was tuned on: faults that no rule was written for, and sound runs of other seeds --------------

for each in ALL_TASKS:  # these made two rules more careful, and so belong to the tuning
    sound(each, name="with a third seed")
    RUNS[-1] = RUNS[-1]._replace(split="tuning")
_UNSEEN_FROM = len(RUNS)
for each in ALL_TASKS:
    sound(each, name="with a fourth seed")
    sound(each, name="with a fifth seed")


@fault("labels", "a third of the labels at random", "mlp", "cnn")
def _(job):
    noisy = torch.rand(len(job.y)) < 0.33
    job.y = torch.where(noisy, torch.randint_like(job.y, 0, 3), job.y)


@fault("labels", "labels one too high", "gru")
def _(job):
    job.y = (job.y + 1) % 2


@fault("labels", "data sorted by label, three batches of each", "mlp")
def _(job):
    order = torch.argsort(job.y)
    job.x, job.y, job.same_batch = job.x[order], job.y[order], 16


@fault("loss or output", "softmax over the wrong axis", "mlp")
def _(job):
    job.model = Mlp(final=nn.Softmax(dim=0))


@fault("loss or output", "the loss is maximised", "cnn_plain")
def _(job):
    job.loss = Maximised()


@fault("initialisation", "no activations at all", "mlp_deep")
def _(job):
    for name in list(job.model.order):
        if name.startswith("gelu"):
            setattr(job.model, name, nn.Identity())


@fault("initialisation", "dropout of 95 %", "mlp_norm")
def _(job):
    job.model = Mlp(norm=True, drop=0.95)


fault("learning rate too low", "gradients clipped to almost nothing", "mlp", "transformer")(
    setting(clip=1e-4, optimizer="sgd", lr=0.01)
)
fault("learning rate too low", "weight decay of 10", "regression")(setting(weight_decay=10.0, optimizer="sgd", lr=0.02))
fault("learning rate too high", "Adam at 0.1", "mlp", "transformer", "lstm")(setting(lr=0.1))
fault("learning rate too high", "Adam at 0.03", "gru")(setting(lr=0.03))


@fault("input scale", "one feature 1,000 times the others", "mlp", "regression")
def _(job):
    job.x, job.x_eval = job.x.clone(), job.x_eval.clone()
    job.x[:, 0] *= 1000
    job.x_eval[:, 0] *= 1000


@fault("input scale", "evaluation data scaled otherwise", "cnn")
def _(job):
    job.x_eval = job.x_eval * 255


@fault("class imbalance", "one class in 12", "gru")
def _(job):
    keep = (job.y == 0) | (torch.rand(len(job.y)) < 0.08)
    job.x, job.y = job.x[keep], job.y[keep]


RUNS[_UNSEEN_FROM:] = [run._replace(split="unseen") for run in RUNS[_UNSEEN_FROM:]]
