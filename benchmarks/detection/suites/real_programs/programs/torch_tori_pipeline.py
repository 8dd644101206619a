"""A pipeline class trains and tests a dense network on the points of two entangled tori.

The test loop takes the network as the training loop left it, so that its units are still dropped (fixed: model.eval()
at the beginning of the test loop).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)


def torus(n, center, upright, major=1.0, minor=0.3):
    u, v = rng.uniform(0, 2 * np.pi, (2, n))
    p = np.stack(
        [(major + minor * np.cos(v)) * np.cos(u), (major + minor * np.cos(v)) * np.sin(u), minor * np.sin(v)], 1
    )
    if upright:
        p = p[:, [0, 2, 1]]
    return p + center + rng.normal(0, 0.08, (n, 3))


def entangled_tori(n):
    points = np.concatenate([torus(n, [0, 0, 0], False), torus(n, [1.0, 0, 0], True)])
    labels = np.repeat([0, 1], n)
    return TensorDataset(torch.tensor(points, dtype=torch.float32), torch.tensor(labels))


class Classifier(nn.Module):
    def __init__(self, hidden=24, p=0.3):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(3, hidden),
            nn.ReLU(),
            nn.Dropout(p),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(p),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(p),
            nn.Linear(hidden, 2),
        )

    def forward(self, x):
        return self.layers(x)


class Pipeline:
    def __init__(self, model, loaders, loss_fn):
        self.model, self.loaders, self.loss_fn = model, loaders, loss_fn

    def _train_loop(self, loader):
        self.model.train()
        total = 0.0
        for x, y in loader:
            loss = self.loss_fn(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(y)
        return total / len(loader.dataset)

    def _test_loop(self, loader):
        if FIXED:
            self.model.eval()
        test_loss, correct = 0.0, 0
        with torch.no_grad():
            for x, y in loader:
                pred = self.model(x)
                test_loss += self.loss_fn(pred, y).item() * len(y)
                correct += (pred.argmax(1) == y).sum().item()
        n = len(loader.dataset)
        return test_loss / n, correct / n

    def train(self, optimizer_class, n_epochs, **kwargs):
        self.optimizer = optimizer_class(self.model.parameters(), **kwargs)
        for epoch in range(n_epochs):
            loss = self._train_loop(self.loaders[0])
            val_loss, val_acc = self._test_loop(self.loaders[1])
            print(f"Epoch {epoch + 1} training loss {loss:.4f} validation loss {val_loss:.4f} accuracy {val_acc:.4f}")
        return self._test_loop(self.loaders[2])


data = entangled_tori(1500)
train, val, test = random_split(data, [2000, 400, 600])
loaders = [
    DataLoader(train, batch_size=32, shuffle=True),
    DataLoader(val, batch_size=64),
    DataLoader(test, batch_size=64),
]
pipe = Pipeline(Classifier(), loaders, nn.CrossEntropyLoss())
loss, accuracy = pipe.train(torch.optim.Adam, 25, lr=2e-3)
print(f"test loss {loss:.4f}")
print("RESULT test_accuracy", f"{accuracy:.4f}")
