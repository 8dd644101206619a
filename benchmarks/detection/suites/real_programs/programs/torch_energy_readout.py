"""A graph network passes messages between the atoms of small structures and sums over them to predict an energy.

The sum over atoms has the shape (batch,) and the labels come as (batch, 1), so ``MSELoss`` compares each with each and
the mean is predicted (fixed: outputs get the shape of the labels).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(11)
rng = np.random.default_rng(11)

ATOMS, KINDS = 8, 4


def make_structures(n):
    kinds = rng.integers(0, KINDS, (n, ATOMS))
    pos = rng.uniform(0, 2, (n, ATOMS, 3))
    dist = np.linalg.norm(pos[:, :, None] - pos[:, None], axis=-1)
    near = np.exp(-(dist**2)) * (1 - np.eye(ATOMS))
    charge = np.array([-1.0, -0.3, 0.4, 1.2])[kinds]
    energy = 0.5 * np.einsum("bi,bij,bj->b", charge, near, charge) + 0.3 * charge.sum(1)
    return kinds, near, energy


kinds, near, energy = make_structures(2500)
mean, std = energy[:2000].mean(), energy[:2000].std()
target = ((energy - mean) / std)[:, None]
tensors = (torch.tensor(kinds), torch.tensor(near, dtype=torch.float32), torch.tensor(target, dtype=torch.float32))
train = DataLoader(TensorDataset(*(t[:2000] for t in tensors)), batch_size=64, shuffle=True)
val = DataLoader(TensorDataset(*(t[2000:] for t in tensors)), batch_size=100)


class EnergyModel(nn.Module):
    def __init__(self, dim=32, layers=2):
        super().__init__()
        self.embed = nn.Embedding(KINDS, dim)
        self.message = nn.ModuleList(nn.Linear(dim, dim) for _ in range(layers))
        self.update = nn.ModuleList(nn.Sequential(nn.Linear(2 * dim, dim), nn.SiLU()) for _ in range(layers))
        self.readout = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 1))

    def forward(self, kinds, near):
        h = self.embed(kinds)
        for message, update in zip(self.message, self.update, strict=True):
            m = near @ message(h)
            h = h + update(torch.cat([h, m], dim=-1))
        return self.readout(h).squeeze(-1).sum(1)


def compute_losses(pred, label):
    if FIXED:
        pred = pred.reshape(label.shape)
    return loss_func(pred, label)


model = EnergyModel()
loss_func = nn.MSELoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(15):
    model.train()
    losses = []
    for k, a, y in train:
        optimizer.zero_grad()
        loss = compute_losses(model(k, a), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    errors = []
    with torch.no_grad():
        for k, a, y in val:
            errors.append((model(k, a) - y.squeeze(1)).abs())
    mae = torch.cat(errors).mean().item()
    print(f"epoch {epoch + 1:2d}  train loss {np.mean(losses):.4f}  val MAE {mae:.4f}")
print("RESULT val_mae", f"{mae:.4f}")
