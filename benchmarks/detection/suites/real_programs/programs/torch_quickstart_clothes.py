"""A perceptron of three layers sorts small grey pictures of ten kinds of clothes, as in the quickstart tutorial.

The stack of layers ends with a ReLU, so the logits given to the cross-entropy cannot be negative. The unit of a class
that falls below zero gets no gradient any more: whole classes are never predicted (fixed: no ReLU after the last
layer).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(3)
np.random.seed(3)
torch.set_num_threads(1)


def pictures(n, rng, base):
    labels = rng.randint(0, 10, size=n)
    images = np.zeros((n, 28, 28), dtype=np.float32)
    for i, c in enumerate(labels):
        dx, dy = rng.randint(-2, 3, size=2)
        images[i] = np.roll(base[c], (dy, dx), axis=(0, 1)) * rng.uniform(0.6, 1.0)
    images += rng.normal(0, 0.12, size=images.shape)
    return torch.from_numpy(np.clip(images, 0, 1).astype(np.float32)), torch.from_numpy(labels).long()


def garments(rng):
    yy, xx = np.mgrid[0:28, 0:28]
    out = []
    for _ in range(10):
        field = np.zeros((28, 28))
        for _ in range(5):
            cx, cy = rng.uniform(7, 21, size=2)
            sx, sy = rng.uniform(2, 6, size=2)
            field += np.exp(-(((xx - cx) / sx) ** 2) - ((yy - cy) / sy) ** 2)
        out.append(np.clip(field, 0, 1))
    return np.stack(out)


rng = np.random.RandomState(5)
base = garments(rng)
training_data = TensorDataset(*pictures(6000, rng, base))
test_data = TensorDataset(*pictures(1500, rng, base))
train_dataloader = DataLoader(training_data, batch_size=64, shuffle=True)
test_dataloader = DataLoader(test_data, batch_size=64)


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        layers = [
            nn.Linear(28 * 28, 512),
            nn.ReLU(),
            nn.Linear(512, 512),
            nn.ReLU(),
            nn.Linear(512, 10),
        ]
        if not FIXED:
            layers.append(nn.ReLU())
        self.linear_relu_stack = nn.Sequential(*layers)

    def forward(self, x):
        x = self.flatten(x)
        return self.linear_relu_stack(x)


model = NeuralNetwork()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=5e-2)


def train(dataloader, model, loss_fn, optimizer):
    size = len(dataloader.dataset)
    model.train()
    for batch, (x, y) in enumerate(dataloader):
        pred = model(x)
        loss = loss_fn(pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if batch % 30 == 0:
            print(f"loss: {loss.item():>7f}  [{batch * len(x):>5d}/{size:>5d}]")


def test(dataloader, model, loss_fn):
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for x, y in dataloader:
            pred = model(x)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).float().sum().item()
    correct /= len(dataloader.dataset)
    print(f"Test accuracy: {100 * correct:.1f}%, avg loss: {test_loss / len(dataloader):.4f}")
    return correct


for t in range(8):
    print(f"Epoch {t + 1}")
    train(train_dataloader, model, loss_fn, optimizer)
    accuracy = test(test_dataloader, model, loss_fn)
print("RESULT test_accuracy", f"{accuracy:.4f}")
