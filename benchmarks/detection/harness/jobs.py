"""The training jobs of the benchmark: small, reproducible, and sound or with one fault each.

A job is a task (data, model and loss) with settings. A fault changes the settings or the job itself. All random numbers
come from the job's seed.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterator

import attrs
import numpy as np
import torch
from torch import nn

import sagemaker_debug_ext.pytorch as smd

STEPS, EVAL_EVERY, BATCH = 70, 14, 32


@attrs.define
class Job:
    """The settings of a run. Faults change them."""

    task: str
    seed: int
    model: nn.Module | None = None
    loss: nn.Module | None = None
    x: torch.Tensor | None = None
    y: torch.Tensor | None = None
    x_eval: torch.Tensor | None = None
    y_eval: torch.Tensor | None = None
    lr: float = 3e-3
    rate: Callable[[int], float] = lambda _: 1.0
    """Factor of the learning rate at a step."""
    optimizer: str = "adam"
    zero_every: int = 1
    """Number of batches between resets of the gradients. 0: never reset."""
    update_every: int = 1
    """Number of batches between updates. 0: no updates."""
    eval_mode: bool = True
    """Whether the model is in evaluation mode while it is evaluated."""
    train_mode: Callable[[int], bool] = lambda _: True
    """Whether the model is in training mode at a training step."""
    same_batch: int = 0
    """Number of fixed batches that are repeated. 0: batches are shuffled."""
    batch: int = BATCH
    prepare: Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]] = lambda x, y: (x, y)
    """Function of each training batch before the model gets it."""
    steps: int = STEPS
    weight_decay: float = 0.0
    clip: float | None = None
    loss_factor: float = 1.0
    trained: Callable[[nn.Module], Iterator[nn.Parameter]] = lambda model: model.parameters()
    """Returns the parameters that the optimizer gets."""


class Mlp(nn.Module):
    """Fully connected layers with an activation, and optional normalisation and dropout."""

    def __init__(self, inputs=8, hidden=24, outputs=4, depth=2, act="relu", norm=False, drop=0.0, final=None):
        super().__init__()
        sizes = [inputs] + [hidden] * depth
        acts = {
            "relu": nn.ReLU,
            "tanh": nn.Tanh,
            "sigmoid": nn.Sigmoid,
            "gelu": nn.GELU,
            "leaky": nn.LeakyReLU,
            "elu": nn.ELU,
        }
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
    """A recurrent layer without an activation, whose state can explode."""

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


class Table(dict):
    """A dictionary that suites add to. Existing entries cannot be overwritten."""

    def __ior__(self, more):
        """Add entries. Raises `ValueError` if a name is taken."""
        twice = sorted(self.keys() & more.keys())
        if twice:
            raise ValueError(f"these names are taken: {', '.join(twice)}")
        return super().__ior__(more)


TASKS = Table(
    {
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
)
OPTIMIZERS = Table(
    {
        "adam": torch.optim.Adam,
        "adamw": torch.optim.AdamW,
        "sgd": torch.optim.SGD,
        "momentum": functools.partial(torch.optim.SGD, momentum=0.9),
        "heavy": functools.partial(torch.optim.SGD, momentum=0.99),
        "rmsprop": torch.optim.RMSprop,
        "adagrad": torch.optim.Adagrad,
    }
)
RATES = Table(
    {"rnn": 5e-3, "gru": 1e-2, "lstm": 2e-2, "transformer": 3e-3, "transformer_drop": 3e-3, "regression": 5e-3}
)


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


def recording_hook(folder: str, model: nn.Module, loss: nn.Module, **settings: object) -> smd.Hook:
    """Return a hook that saves everything of a model and its loss at every step.

    Args:
        folder: Folder of the trial.
        model: The model.
        loss: Its loss.
        **settings: Further arguments of the hook.
    """
    hook = smd.Hook(out_dir=folder, save_config=smd.SaveConfig(save_interval=1), save_all=True, **settings)
    hook.register_module(model)
    hook.register_loss(loss)
    return hook


def run(job: Job, folder: str) -> None:
    """Train a job, and save everything at every step."""
    torch.manual_seed(job.seed + 1)
    model, loss = job.model, job.loss
    hook = recording_hook(folder, model, loss)
    parameters = [parameter for parameter in job.trained(model) if parameter.requires_grad]
    optimizer = OPTIMIZERS[job.optimizer](parameters, job.lr, weight_decay=job.weight_decay)
    batches = draw(job)
    for step in range(job.steps):
        hook.set_mode(smd.modes.TRAIN)
        model.train(job.train_mode(step))
        if job.zero_every and step % job.zero_every == 0:
            optimizer.zero_grad()
        x, y = next(batches)
        value = loss(model(x), y)
        (value * job.loss_factor).backward()
        if job.clip:
            nn.utils.clip_grad_norm_(parameters, job.clip)
        for group in optimizer.param_groups:
            group["lr"] = job.lr * job.rate(step)
        if job.update_every and step % job.update_every == job.update_every - 1:
            optimizer.step()
        if step % EVAL_EVERY == EVAL_EVERY - 1:
            hook.set_mode(smd.modes.EVAL)
            if job.eval_mode:
                model.eval()
            with torch.no_grad():
                for part in range(2):
                    rows = slice(part * 64, part * 64 + 64)
                    loss(model(job.x_eval[rows]), job.y_eval[rows])
    hook.close()


def draw(job: Job) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield training batches endlessly, shuffled anew in each epoch."""
    order = torch.randperm(len(job.x))
    place = 0
    for step in itertools.count():
        if place + job.batch > len(order):
            order, place = torch.randperm(len(job.x)), 0
        rows = order[place : place + job.batch]
        place += job.batch
        if job.same_batch:
            rows = torch.arange(job.batch) + job.batch * (step % job.same_batch)
        yield job.prepare(job.x[rows], job.y[rows])


def limit_threads() -> None:
    """Use one thread, since the jobs are too small for more."""
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
