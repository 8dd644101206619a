"""A linear head on the features of a frozen, pretrained encoder sorts series into four kinds.

The features go into the head as they are. They have a large part in common and differ little between series, so that
the head learns far too slowly (fixed: batch normalisation of the features before the linear layer).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
rng = np.random.default_rng(0)
torch.manual_seed(0)

LENGTH = 64


def unlabelled(n):
    """Sums of three waves of any speed, for the pretraining."""
    t = np.arange(LENGTH)
    speed, phase, height = (
        rng.uniform(0.05, 1.2, (n, 3, 1)),
        rng.uniform(0, 2 * np.pi, (n, 3, 1)),
        rng.uniform(0.2, 1, (n, 3, 1)),
    )
    series = (height * np.sin(speed * t + phase)).sum(1) + rng.normal(0, 0.1, (n, LENGTH))
    series = (series - series.mean(1, keepdims=True)) / series.std(1, keepdims=True)
    return torch.tensor(series, dtype=torch.float32)[:, None]


def labelled(n):
    """Four kinds of signals (sine, square, triangle and sawtooth) of any speed and phase."""
    kind = rng.integers(0, 4, n)
    angle = rng.uniform(0.2, 0.5, (n, 1)) * np.arange(LENGTH) + rng.uniform(0, 2 * np.pi, (n, 1))
    turn = angle / (2 * np.pi) % 1
    shapes = np.stack([np.sin(angle), np.sign(np.sin(angle)), 4 * abs(turn - 0.5) - 1, 2 * turn - 1])
    series = shapes[kind, np.arange(n)] + rng.normal(0, 0.15, (n, LENGTH))
    series = (series - series.mean(1, keepdims=True)) / series.std(1, keepdims=True)
    return torch.tensor(series, dtype=torch.float32)[:, None], torch.tensor(kind)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, 32, 5, padding=2),
            nn.GELU(),
            nn.Conv1d(32, 64, 5, padding=2),
            nn.GELU(),
            nn.Conv1d(64, 64, 5, padding=2),
            nn.GELU(),
        )

    def forward(self, x):
        return self.layers(x)


# Pretraining: the values that are hidden are filled in.
encoder, decoder = Encoder(), nn.Conv1d(64, 1, 5, padding=2)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
for _ in range(300):
    series = unlabelled(64)
    hidden = (torch.rand(64, 1, LENGTH) < 0.3).float()
    loss = ((decoder(encoder(series * (1 - hidden))) - series) ** 2 * hidden).sum() / hidden.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("pre-training loss", round(loss.item(), 4))

# The head is trained, and the encoder stays as it is.
for p in encoder.parameters():
    p.requires_grad = False
encoder.eval()
x_train, y_train = labelled(1200)
x_test, y_test = labelled(800)

head = nn.Sequential(nn.BatchNorm1d(64), nn.Linear(64, 4)) if FIXED else nn.Sequential(nn.Linear(64, 4))
with torch.no_grad():
    z_train, z_test = encoder(x_train).mean(2), encoder(x_test).mean(2)
loader = DataLoader(TensorDataset(z_train, y_train), batch_size=64, shuffle=True)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(head.parameters(), lr=2e-3, weight_decay=0.05)
for epoch in range(25):
    head.train()
    total = 0.0
    for z, y in loader:
        optimizer.zero_grad()
        loss = criterion(head(z), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "loss", round(total / len(loader), 4))

head.eval()
with torch.no_grad():
    accuracy = (head(z_test).argmax(1) == y_test).float().mean().item()
print("RESULT test_accuracy", f"{accuracy:.4f}")
