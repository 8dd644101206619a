"""A convolutional network cleans noisy pictures of shapes, with as many convolutions as an argument says.

They are kept in a plain list, so that neither ``parameters`` nor the optimizer knows of them and they stay random
(fixed: ``nn.ModuleList``).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(21)
rng = np.random.default_rng(21)
SIZE = 16


def make_pictures(n):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    clean = np.zeros((n, 1, SIZE, SIZE), np.float32)
    for i in range(n):
        for _ in range(2):
            cy, cx, r = rng.uniform(3, 13), rng.uniform(3, 13), rng.uniform(2, 4)
            shape = np.hypot(yy - cy, xx - cx) < r if rng.random() < 0.5 else np.maximum(abs(yy - cy), abs(xx - cx)) < r
            clean[i, 0][shape] = 1
    noisy = clean + rng.normal(0, 0.7, clean.shape)
    return torch.tensor(noisy, dtype=torch.float32), torch.tensor(clean)


class CleanNet(nn.Module):
    def __init__(self, depth=4, width=12):
        super().__init__()
        self.first = nn.Conv2d(1, width, 3, padding=1)
        convs = [nn.Conv2d(width, width, 3, padding=1) for _ in range(depth)]
        self.my_modules = nn.ModuleList(convs) if FIXED else convs
        self.last = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        x = torch.relu(self.first(x))
        for conv in self.my_modules:
            x = torch.relu(conv(x))
        return self.last(x)


x_train, y_train = make_pictures(1000)
x_val, y_val = make_pictures(300)
model = CleanNet()
print(sum(p.numel() for p in model.parameters()), "parameters")
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.MSELoss()
for epoch in range(8):
    losses = []
    for x, y in DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        val_loss = criterion(model(x_val), y_val).item()
    print(f"epoch {epoch + 1}  train loss {np.mean(losses):.4f}  val loss {val_loss:.4f}")
print("RESULT val_mse", f"{val_loss:.4f}")
