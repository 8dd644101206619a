"""The training jobs of the benchmark: small, reproducible, sound or with one fault each.

A job is a task (data and model) with settings; a fault changes settings or the job itself. Everything is drawn from the
job's seed.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import torch
from torch import nn

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.vocabulary import ModeKeys

STEPS, EVAL_EVERY, BATCH = 70, 14, 32


@attrs.define
class Job:
    """What a run does; faults change it."""

    task: str
    seed: int
    model: nn.Module | None = None
    loss: nn.Module | None = None
    x: torch.Tensor | None = None
    y: torch.Tensor | None = None
    x_eval: torch.Tensor | None = None
    y_eval: torch.Tensor | None = None
    lr: float = 3e-3
    optimizer: str = "adam"
    zero_grad: bool = True
    eval_mode: bool = True
    train_mode: bool = True
    same_batch: int = 0
    steps: int = STEPS
    weight_decay: float = 0.0
    clip: float | None = None
    trained: Callable[[nn.Module], Iterator[nn.Parameter]] = lambda model: model.parameters()
    after_step: Callable[[nn.Module, int], None] | None = None


class Mlp(nn.Module):
    """Fully connected layers with an activation and, if asked for, normalisation and dropout."""

    def __init__(self, inputs=8, hidden=24, outputs=4, depth=2, act="relu", norm=False, drop=0.0, final=None):
        super().__init__()
        sizes = [inputs] + [hidden] * depth
        acts = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": nn.GELU}
        self.order = []
        for number, (a, b) in enumerate(itertools.pairwise(sizes)):
            self._add(f"fc{number}", nn.Linear(a, b))
            if norm:
                self._add(f"bn{number}", nn.BatchNorm1d(b))
            self._add(f"{act}{number}", acts[act]())
            if drop:
                self._add(f"drop{number}", nn.Dropout(drop))
        self._add("head", nn.Linear(hidden, outputs))
        if final is not None:
            self._add("final", final)

    def _add(self, name, module):
        self.add_module(name, module)
        self.order.append(name)

    def forward(self, x):
        for name in self.order:
            x = getattr(self, name)(x)
        return x


class Cnn(nn.Module):
    def __init__(self, norm=True, final=None):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 3, padding=1), nn.Conv2d(6, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(6) if norm else nn.Identity()
        self.relu1, self.relu2 = nn.ReLU(), nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(8 * 16, 3)
        self.final = final or nn.Identity()

    def forward(self, x):
        x = self.pool(self.relu1(self.bn1(self.conv1(x))))
        return self.final(self.head(self.relu2(self.conv2(x)).flatten(1)))


class Rnn(nn.Module):
    def __init__(self, cell="gru", final=None):
        super().__init__()
        self.rnn = {"gru": nn.GRU, "rnn": nn.RNN, "lstm": nn.LSTM}[cell](4, 16, batch_first=True)
        self.head = nn.Linear(16, 2)
        self.final = final or nn.Identity()

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.final(self.head(out[:, -1]))


class Linear1(nn.Module):
    """A recurrent layer without a squashing function, which can explode."""

    def __init__(self, scale=1.0):
        super().__init__()
        self.inner, self.again, self.head = nn.Linear(4, 16), nn.Linear(16, 16, bias=False), nn.Linear(16, 2)
        with torch.no_grad():
            self.again.weight.copy_(torch.eye(16) * scale)

    def forward(self, x):
        h = torch.zeros(len(x), 16)
        for t in range(x.shape[1]):
            h = self.again(h) + self.inner(x[:, t])
        return self.head(h)


class Transformer(nn.Module):
    def __init__(self, drop=0.0, final=None):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.encoder = nn.TransformerEncoderLayer(16, 2, 32, dropout=drop, batch_first=True)
        self.head = nn.Linear(16, 3)
        self.final = final or nn.Identity()

    def forward(self, x):
        return self.final(self.head(self.encoder(self.embedding(x)).mean(1)))


def blobs(rng, n=700, noise=0.9):
    centres = rng.normal(size=(4, 8)) * 1.6
    y = rng.integers(0, 4, n)
    return (centres[y] + rng.normal(size=(n, 8)) * noise).astype(np.float32), y


def images(rng, n=600):
    y = rng.integers(0, 3, n)
    x = rng.normal(size=(n, 1, 8, 8)) * 0.4
    for index, label in enumerate(y):
        place = rng.integers(0, 8)
        if label == 0:
            x[index, 0, place] += 1.5
        elif label == 1:
            x[index, 0, :, place] += 1.5
        else:
            x[index, 0] += np.eye(8) * 1.5
    return x.astype(np.float32), y


def sequences(rng, n=700, length=10):
    x = rng.normal(size=(n, length, 4)).astype(np.float32)
    return x, (x[:, :, 0].sum(1) > 0).astype(np.int64)


def tokens(rng, n=700):
    y = rng.integers(0, 3, n)
    x = rng.integers(0, 20, (n, 12))
    for index, label in enumerate(y):
        x[index, rng.permutation(12)[:4]] = label
    return x, y


def curve(rng, n=700):
    x = rng.normal(size=(n, 6)).astype(np.float32)
    y = 2 * x[:, 0] - 1.5 * x[:, 1] + np.sin(2 * x[:, 2]) + 0.1 * rng.normal(size=n)
    return x, y.astype(np.float32)[:, None]


TASKS = {
    "mlp": (blobs, Mlp, nn.CrossEntropyLoss),
    "mlp_tanh": (blobs, lambda: Mlp(act="tanh"), nn.CrossEntropyLoss),
    "mlp_norm": (blobs, lambda: Mlp(norm=True, drop=0.2), nn.CrossEntropyLoss),
    "mlp_deep": (blobs, lambda: Mlp(depth=4, act="gelu"), nn.CrossEntropyLoss),
    "cnn": (images, Cnn, nn.CrossEntropyLoss),
    "cnn_plain": (images, lambda: Cnn(norm=False), nn.CrossEntropyLoss),
    "rnn": (sequences, lambda: Rnn("rnn"), nn.CrossEntropyLoss),
    "gru": (sequences, lambda: Rnn("gru"), nn.CrossEntropyLoss),
    "lstm": (sequences, lambda: Rnn("lstm"), nn.CrossEntropyLoss),
    "transformer": (tokens, Transformer, nn.CrossEntropyLoss),
    "transformer_drop": (tokens, lambda: Transformer(drop=0.1), nn.CrossEntropyLoss),
    "regression": (curve, lambda: Mlp(6, outputs=1), nn.MSELoss),
}
RATES = {"rnn": 5e-3, "gru": 1e-2, "lstm": 2e-2, "transformer": 3e-3, "transformer_drop": 3e-3, "regression": 5e-3}


def make(task: str, seed: int) -> Job:
    """Return the sound job of a task."""
    torch.manual_seed(seed)
    data, model, loss = TASKS[task]
    x, y = data(np.random.default_rng(seed))
    x, y = torch.as_tensor(x), torch.as_tensor(y)
    cut = len(x) - 128
    return Job(
        task, seed, model(), loss(), x[:cut], y[:cut], x[cut:], y[cut:], lr=RATES.get(task, 5e-3),
    )  # fmt: skip


def run(job: Job, folder: str) -> None:
    """Train, saving everything at every step."""
    torch.manual_seed(job.seed + 1)
    hook = smd.Hook(out_dir=folder, save_config=smd.SaveConfig(save_interval=1), save_all=True)
    model, loss = job.model, job.loss
    hook.register_module(model)
    hook.register_loss(loss)
    parameters = [parameter for parameter in job.trained(model) if parameter.requires_grad]
    kinds = {
        "adam": lambda: torch.optim.Adam(parameters, job.lr, weight_decay=job.weight_decay),
        "sgd": lambda: torch.optim.SGD(parameters, job.lr, weight_decay=job.weight_decay),
        "momentum": lambda: torch.optim.SGD(parameters, job.lr, momentum=0.9, weight_decay=job.weight_decay),
    }
    optimizer = kinds[job.optimizer]()
    order = torch.randperm(len(job.x))
    place = 0
    for step in range(job.steps):
        hook.set_mode(smd.modes.TRAIN)
        model.train(job.train_mode)
        if place + BATCH > len(order):
            order, place = torch.randperm(len(job.x)), 0
        batch = order[place : place + BATCH]
        place += BATCH
        if job.same_batch:
            batch = torch.arange(BATCH) + BATCH * (step % job.same_batch)
        if job.zero_grad:
            optimizer.zero_grad()
        value = loss(model(job.x[batch]), job.y[batch])
        value.backward()
        if job.clip:
            nn.utils.clip_grad_norm_(parameters, job.clip)
        optimizer.step()
        if job.after_step:
            job.after_step(model, step)
        if step % EVAL_EVERY == EVAL_EVERY - 1:
            hook.set_mode(smd.modes.EVAL)
            if job.eval_mode:
                model.eval()
            with torch.no_grad():
                for part in range(2):
                    rows = slice(part * 64, part * 64 + 64)
                    loss(model(job.x_eval[rows]), job.y_eval[rows])
    hook.close()


def run_replicas(folder: str, seed: int, synchronised: bool, same_start: bool = True, skip: int | None = None) -> None:
    """Train two replicas on halves of each batch, and save their weights and losses as two workers do."""
    torch.manual_seed(seed)
    x, y = map(torch.as_tensor, blobs(np.random.default_rng(seed)))
    models = [Mlp(), Mlp()]
    if same_start:
        models[1].load_state_dict(models[0].state_dict())
    loss = nn.CrossEntropyLoss()
    optimizers = [torch.optim.Adam(model.parameters(), 5e-3) for model in models]
    trial = SmallTrial(folder, ("worker_0", "worker_1"))
    for step in range(40):
        for rank, model in enumerate(models):
            rows = torch.randint(0, len(x), (BATCH,))
            optimizers[rank].zero_grad()
            value = loss(model(x[rows]), y[rows])
            value.backward()
            tensors: dict[str, Any] = {f"Mlp_{n}": p.detach().numpy().copy() for n, p in model.named_parameters()}
            tensors |= {f"gradient/Mlp_{n}": p.grad.numpy().copy() for n, p in model.named_parameters()}
            tensors["CrossEntropyLoss_output_0"] = np.float32(value.item())
            trial.write(ModeKeys.TRAIN, step, tensors, global_step=step, worker=f"worker_{rank}")
        if synchronised and step != skip:
            for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True):
                a.grad = b.grad = (a.grad + b.grad) / 2
        for optimizer in optimizers:
            optimizer.step()
    trial.end()


def run_boosting(folder: str, seed: int, *, depth: int = 3, rate: float = 0.2, noise: float = 0.0, leak=False,
                 imbalance=False, rounds: int = 30, rows: int = 400, shift: float = 0.0) -> None:  # fmt: skip
    """Boost trees, and save what an XGBoost job saves at each round. The trees are scikit-learn's."""
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.metrics import log_loss

    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows + 200, 6))
    y = (x[:, 0] + x[:, 1] * x[:, 2] + 0.5 * x[:, 3] + 0.5 * x[:, 4] + 0.3 * rng.normal(size=len(x)) > 0).astype(int)
    flipped = rng.random(len(y)) < noise
    y = np.where(flipped, rng.integers(0, 2, len(y)), y)
    if leak:
        x[:, 5] = y
    if imbalance:
        keep = (y == 0) | (rng.random(len(y)) < 0.04)
        x, y = x[keep], y[keep]
    cut = len(x) - min(200, len(x) // 3)
    x[cut:] += shift
    model = GradientBoostingClassifier(n_estimators=rounds, max_depth=depth, learning_rate=rate, random_state=seed)
    model.fit(x[:cut], y[:cut])
    patterns = {"losses": ["-logloss$"], "metrics": ["-logloss$"], "labels": ["^labels$"], "predictions": ["^pred"],
                "feature_importance": ["^feature_importance/"], "trees": ["^trees/"]}  # fmt: skip
    trial = SmallTrial(folder, collections=patterns)
    stages = zip(model.staged_predict_proba(x[:cut]), model.staged_predict_proba(x[cut:]), strict=True)
    for step, (train, valid) in enumerate(stages):
        tree = model.estimators_[step, 0].tree_
        counts = np.bincount(tree.feature[tree.feature >= 0], minlength=6)
        tensors: dict[str, Any] = {
            "train-logloss": log_loss(y[:cut], train[:, 1], labels=[0, 1]),
            "validation-logloss": log_loss(y[cut:], valid[:, 1], labels=[0, 1]),
            "labels": y[cut:].astype(np.float32),
            "predictions": valid[:, 1].astype(np.float32),
            "trees/Node": np.arange(2 ** (tree.max_depth + 1) - 1),
        }
        tensors |= {f"feature_importance/weight/f{i}": float(c / counts.sum()) for i, c in enumerate(counts) if c}
        trial.write(ModeKeys.GLOBAL, step, tensors)
    trial.end()


def limit_threads() -> None:
    """Use one core: the jobs are too small for more."""
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
