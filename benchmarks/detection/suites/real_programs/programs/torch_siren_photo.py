"""A network with sine activations (omega 30) learns the grey values of a photo from the places of its pixels.

A quarter of the pixels is kept for the test. The places go in as row and column numbers, far outside of what the
sines are made for, at a rate of 0.001, and it does not converge (fixed: places between -1 and 1, and a rate of
0.0001).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_sample_image
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
np.random.seed(0)

photo = load_sample_image("china.jpg").mean(2) / 255.0
photo = photo[20:404, 120:504].reshape(48, 8, 48, 8).mean((1, 3))
rows, cols = np.mgrid[:48, :48]
places = np.stack([rows.ravel(), cols.ravel()], 1).astype(np.float32)
if FIXED:
    places = places / 47.0 * 2 - 1
values = torch.tensor(photo.reshape(-1, 1) * 2 - 1, dtype=torch.float32)
places = torch.tensor(places)
order = torch.randperm(len(places))
train, test = order[576:], order[:576]


class Sine(nn.Module):
    def __init__(self, n_in, n_out, first=False, omega=30.0):
        super().__init__()
        self.omega = omega
        self.linear = nn.Linear(n_in, n_out)
        bound = 1 / n_in if first else np.sqrt(6 / n_in) / omega
        nn.init.uniform_(self.linear.weight, -bound, bound)

    def forward(self, x):
        return torch.sin(self.omega * self.linear(x))


last = nn.Linear(96, 1)
nn.init.uniform_(last.weight, -np.sqrt(6 / 96) / 30, np.sqrt(6 / 96) / 30)
net = nn.Sequential(Sine(2, 96, first=True), Sine(96, 96), Sine(96, 96), last)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4 if FIXED else 1e-3)

for epoch in range(40):
    total = 0.0
    perm = train[torch.randperm(len(train))]
    for start in range(0, len(perm), 216):
        idx = perm[start : start + 216]
        loss = nn.functional.mse_loss(net(places[idx]), values[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 5 == 4:
        with torch.no_grad():
            error = nn.functional.mse_loss(net(places[test]), values[test]).item()
        print(f"epoch {epoch + 1} loss {total / len(perm):.4f} test {error:.4f}")

with torch.no_grad():
    error = nn.functional.mse_loss(net(places[test]), values[test]).item()
print("RESULT test_mse", f"{error:.4f}")
