"""Small models, the loop that trains them, and golden trials of the same models."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import sagemaker_debug_ext.pytorch as smd  # noqa: E402

torch.set_num_threads(1)  # the models are tiny
F = torch.nn.functional


class Net(torch.nn.Module):
    """The small network that most golden trials were made of."""

    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 4, 3, padding=1)
        self.relu1 = torch.nn.ReLU()
        self.conv2 = torch.nn.Conv2d(4, 8, 3, padding=1)
        self.relu2 = torch.nn.ReLU()
        self.fc = torch.nn.Linear(32, 5)

    def forward(self, x):
        x = F.max_pool2d(self.relu1(self.conv1(x)), 2)
        x = F.max_pool2d(self.relu2(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


class Trainer:
    """Trains a `Net` (or another model that takes its images) in the usual way."""

    def __init__(self, hook=None, model=None, seed=0):
        torch.manual_seed(seed)
        self.model = model or Net()
        self.loss = torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.hook = hook
        if hook is not None:
            hook.register_module(self.model)
            hook.register_loss(self.loss)

    def batch(self):
        return torch.randn(6, 1, 8, 8), torch.randint(0, 5, (6,))

    def train(self, steps, after_step=None):
        if self.hook is not None:
            self.hook.set_mode(smd.modes.TRAIN)
        for _ in range(steps):
            images, labels = self.batch()
            self.optimizer.zero_grad()
            self.loss(self.model(images), labels).backward()
            self.optimizer.step()
            if after_step is not None:
                after_step()
        return self

    def evaluate(self, steps):
        if self.hook is not None:
            self.hook.set_mode(smd.modes.EVAL)
        with torch.no_grad():
            for _ in range(steps):
                images, labels = self.batch()
                self.loss(self.model(images), labels)
        return self


@pytest.fixture(autouse=True)
def _steady(outside_of_jobs):
    yield
    smd.del_hook()


@pytest.fixture
def trainer():
    return Trainer


@pytest.fixture
def net_class():
    return Net


@pytest.fixture
def hook_class():
    return smd.Hook


@pytest.fixture(scope="session")
def golden(unpack):
    """Return a function that gives the folder of a golden trial, and what is expected of it."""

    def find(name):
        trial = unpack(name)
        return trial.path, trial.expected

    return find
