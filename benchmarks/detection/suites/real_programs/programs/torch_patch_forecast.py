"""A small transformer over patches of a series forecasts the next value from the last 48.

The forecasts have the shape (B, 1) and the targets (B,), so ``MSELoss`` compares each with each
(fixed: ``y.view_as(pred)``).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(7)
rng = np.random.RandomState(7)

t = np.arange(2400)
series = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 60 + 1) + 0.1 * rng.randn(len(t))
split = 1900
mean, std = series[:split].mean(), series[:split].std()
series = ((series - mean) / std).astype(np.float32)

SEQ, PATCH, PRED = 48, 8, 1


def windows(a):
    x = np.stack([a[i : i + SEQ] for i in range(len(a) - SEQ - PRED + 1)])
    y = a[SEQ + PRED - 1 :]
    return torch.tensor(x), torch.tensor(y)


x_train, y_train = windows(series[:split])
x_val, y_val = windows(series[split:])
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)


class PatchTransformer(nn.Module):
    def __init__(self, d_model=32):
        super().__init__()
        self.proj = nn.Linear(PATCH, d_model)
        self.pos = nn.Parameter(0.02 * torch.randn(1, SEQ // PATCH, d_model))
        layer = nn.TransformerEncoderLayer(d_model, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(d_model * SEQ // PATCH, PRED)

    def forward(self, x):
        x = self.proj(x.view(len(x), SEQ // PATCH, PATCH)) + self.pos
        return self.head(self.encoder(x).flatten(1))


model = PatchTransformer()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
criterion = nn.MSELoss()

for epoch in range(12):
    model.train()
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        pred = model(x)
        loss = criterion(pred, y.view_as(pred) if FIXED else y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print("epoch", epoch + 1, "train", round(float(np.mean(losses)), 4))

model.eval()
with torch.no_grad():
    pred = model(x_val).numpy()[:, 0]
truth = y_val.numpy()
print("RESULT val_r2", f"{1 - ((pred - truth) ** 2).mean() / truth.var():.4f}")
