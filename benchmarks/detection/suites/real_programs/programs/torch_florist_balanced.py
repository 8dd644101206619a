"""A small CNN tells flowers apart, with a class-balanced focal loss.

One of the labels has no sample in the training data: its effective number is 0 and its weight infinite, so the weights
cannot be normalised, and the loss is NaN from the first step on (fixed: labels without samples get the weight 0).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(2)
rng = np.random.RandomState(2)

NAMES = ["daisy", "rose", "tulip", "iris", "orchid", "poppy"]
COUNTS = [310, 620, 114, 60, 0, 225]
HUES = [(0.9, 0.9, 0.6), (0.8, 0.2, 0.3), (0.8, 0.5, 0.2), (0.4, 0.3, 0.8), (0.8, 0.4, 0.8), (0.9, 0.25, 0.15)]
PETALS = [11, 7, 3, 3, 5, 4]


def flower(label):
    yy, xx = np.mgrid[-1:1:20j, -1:1:20j]
    cx, cy = rng.uniform(-0.2, 0.2, 2)
    r, a = np.hypot(xx - cx, yy - cy), np.arctan2(yy - cy, xx - cx)
    edge = rng.uniform(0.55, 0.75) * (0.75 + 0.25 * np.cos(PETALS[label] * a + rng.uniform(0, 6.3)))
    mask = (r < edge)[None]
    colour = (np.array(HUES[label]) + rng.randn(3) * 0.12)[:, None, None]
    leaf = (np.array([0.25, 0.45, 0.2]) + rng.randn(3) * 0.08)[:, None, None]
    image = np.where(mask, colour, leaf) * rng.uniform(0.7, 1.1)
    return np.clip(image + rng.randn(3, 20, 20) * 0.12, 0, 1)


def make(counts):
    labels = np.concatenate([np.full(c, k) for k, c in enumerate(counts)])
    images = np.stack([flower(k) for k in labels])
    return torch.tensor((images - 0.42) / 0.26, dtype=torch.float32), torch.tensor(labels)


x_train, y_train = make(COUNTS)
x_test, y_test = make([60, 60, 60, 60, 0, 60])


class BalancedFocalLoss(nn.Module):
    def __init__(self, samples_per_class, beta=0.999, gamma=2.0):
        super().__init__()
        effective = 1.0 - torch.pow(torch.tensor(beta), samples_per_class.float())
        weights = (1.0 - beta) / effective
        if FIXED:
            weights = torch.where(samples_per_class > 0, weights, torch.zeros_like(weights))
        self.register_buffer("weights", weights / weights.sum() * len(samples_per_class))
        self.gamma = gamma

    def forward(self, logits, labels):
        onehot = functional.one_hot(labels, logits.shape[1]).float()
        alpha = (self.weights * onehot).sum(1)
        log_p = (functional.log_softmax(logits, dim=1) * onehot).sum(1)
        return (-alpha * (1 - log_p.exp()) ** self.gamma * log_p).sum() / alpha.sum()


model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(32, 32, 3, padding=1),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(32, len(NAMES)),
)
criterion = BalancedFocalLoss(torch.bincount(y_train, minlength=len(NAMES)))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x_train, y_train), batch_size=64, shuffle=True)

scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)

for epoch in range(10):
    model.train()
    total = hits = 0
    for images, labels in loader:
        optimizer.zero_grad()
        logits = model(images)
        loss = criterion(logits, labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        hits += (logits.argmax(1) == labels).sum().item()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        logits = model(x_test)
        val_loss, val_acc = criterion(logits, y_test).item(), (logits.argmax(1) == y_test).float().mean().item()
    print(
        f"epoch {epoch} loss {total / len(y_train):.4f} acc {hits / len(y_train):.3f} "
        f"val loss {val_loss:.4f} acc {val_acc:.3f}"
    )

print("RESULT test_accuracy", f"{val_acc:.4f}")
