"""A diffusion model of planar robot paths learns from a few demonstrations for each of many start and goal positions.

The loader of the training set does not shuffle. The trajectories lie in the file task by task, so each batch holds a
single task and the model follows the last ones (fixed: shuffle=True).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
np.random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)

TASKS, PER_TASK, HORIZON, STEPS = 40, 64, 16, 25


def demonstrations(rng, starts, goals, n):
    s = np.linspace(0, 1, HORIZON)[None, :, None]
    out = []
    for a, b in zip(starts, goals, strict=True):
        side = np.array([-(b - a)[1], (b - a)[0]])
        bend = rng.normal(0.0, 0.08, size=(n, 1, 1))
        path = a + (b - a) * s + bend * np.sin(np.pi * s) * side
        out.append(path + rng.normal(0, 0.01, size=path.shape))
    return torch.tensor(np.concatenate(out), dtype=torch.float32)


rng = np.random.RandomState(4)
angle = np.sort(rng.uniform(0, 2 * np.pi, size=TASKS))
starts = np.stack([np.cos(angle), np.sin(angle)], 1)
goals = -0.8 * starts + rng.normal(0, 0.1, size=(TASKS, 2))
train_paths = demonstrations(rng, starts, goals, PER_TASK)
val_paths = demonstrations(rng, starts, goals, 8)

train_dataloader = DataLoader(TensorDataset(train_paths), batch_size=64, shuffle=FIXED)

betas = torch.linspace(1e-3, 0.25, STEPS)
alpha_bar = torch.cumprod(1 - betas, 0)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(STEPS, 32)
        self.net = nn.Sequential(
            nn.Linear(HORIZON * 2 + 32, 256),
            nn.SiLU(),
            nn.Linear(256, 256),
            nn.SiLU(),
            nn.Linear(256, HORIZON * 2),
        )

    def forward(self, x, t):
        return self.net(torch.cat([x.flatten(1), self.time(t)], 1)).view_as(x)


def diffusion_loss(model, x, generator=None):
    t = torch.randint(STEPS, (len(x),), generator=generator)
    noise = torch.randn(x.shape, generator=generator)
    a = alpha_bar[t][:, None, None]
    return functional.mse_loss(model(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)


model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(35):
    model.train()
    running = 0.0
    for (x,) in train_dataloader:
        loss = diffusion_loss(model, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if (epoch + 1) % 5 == 0:
        model.eval()
        with torch.no_grad():
            g = torch.Generator().manual_seed(9)
            val = np.mean([diffusion_loss(model, val_paths, g).item() for _ in range(10)])
        print("epoch", epoch + 1, "train", round(running / len(train_dataloader), 4), "val", round(val, 4))
print("RESULT val_loss", f"{val:.4f}")
