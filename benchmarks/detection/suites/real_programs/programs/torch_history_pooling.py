"""An actor imitates an expert, with attention pooling over a history of observations.

The attention scores have the shape (batch, 1, time), and the softmax goes over dimension 1, so that every weight is 1
and the pooling only adds up the history (fixed: the softmax goes over dimension 2, the time).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(1)
rng = np.random.RandomState(1)

HISTORY, OBS, ACT = 12, 10, 3


def make_episodes(n):
    """Walking robot: joint angles wander; at one moment a foot touches the ground, and the expert acts on that pose."""
    pose = rng.randn(n, HISTORY, OBS - 2)
    for t in range(1, HISTORY):
        pose[:, t] = 0.6 * pose[:, t - 1] + 0.8 * pose[:, t]
    force = np.abs(rng.randn(n, HISTORY, 1)) * 0.2
    slip = rng.randn(n, HISTORY, 1) * 0.3
    touch = rng.randint(HISTORY, size=n)
    force[np.arange(n), touch] += 2.5
    at_touch = pose[np.arange(n), touch]
    w = np.random.RandomState(7).randn(OBS - 2, ACT) / np.sqrt(OBS - 2)
    action = np.tanh(at_touch @ w) + rng.randn(n, ACT) * 0.05
    obs = np.concatenate([pose, force, slip], axis=2)
    return torch.tensor(obs, dtype=torch.float32), torch.tensor(action, dtype=torch.float32)


x_train, y_train = make_episodes(3000)
x_valid, y_valid = make_episodes(800)
mean, std = x_train.mean((0, 1)), x_train.std((0, 1))
x_train, x_valid = (x_train - mean) / std, (x_valid - mean) / std


class TemporalAttentionPool(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.score = nn.Conv1d(features, 1, kernel_size=1)
        self.softmax = nn.Softmax(dim=2 if FIXED else 1)

    def forward(self, x):
        x = x.transpose(1, 2)
        weights = self.softmax(self.score(x))
        return (x * weights).sum(dim=2)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = TemporalAttentionPool(OBS)
        self.head = nn.Sequential(nn.Linear(OBS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, ACT))

    def forward(self, x):
        return self.head(self.pool(x))


actor = Actor()
optimizer = torch.optim.Adam(actor.parameters(), lr=1e-2)
criterion = nn.MSELoss()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x_train, y_train), batch_size=128, shuffle=True)

scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=16)

for epoch in range(16):
    actor.train()
    losses = []
    for obs, action in loader:
        optimizer.zero_grad()
        loss = criterion(actor(obs), action)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()
    actor.eval()
    with torch.no_grad():
        valid = criterion(actor(x_valid), y_valid).item()
    print(f"epoch {epoch} train {np.mean(losses):.4f} valid {valid:.4f}")

with torch.no_grad():
    residual = ((actor(x_valid) - y_valid) ** 2).mean()
r2 = 1 - residual / ((y_valid - y_valid.mean(0)) ** 2).mean()
print("RESULT valid_r2", f"{r2.item():.4f}")
