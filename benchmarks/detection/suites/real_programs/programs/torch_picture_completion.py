"""A network that fills holes completes pictures in training mode, one by one (fixed: evaluation mode)."""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)

X = load_digits().data.reshape(-1, 1, 8, 8) / 16.0
X = np.kron(X, np.ones((1, 1, 2, 2)))
n = len(X)
light = rng.uniform(0.2, 1.0, (n, 1, 1, 1))
ground = rng.uniform(0.0, 0.8, (n, 1, 1, 1))
X = torch.tensor(ground + (1 - ground) * light * X, dtype=torch.float32)
Xa, Xb = X[:1400], X[1400:1700]
mpv = Xa.mean()


class CompletionNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, 24, 5, padding=2),
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.Conv2d(24, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, dilation=2, padding=2),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.ConvTranspose2d(32, 24, 4, stride=2, padding=1),
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.Conv2d(24, 1, 3, padding=1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.net(x)


def gen_mask(k):
    m = torch.zeros(k, 1, 16, 16)
    for i in range(k):
        a, b = rng.randint(3, 9, 2)
        m[i, :, a : a + 5, b : b + 5] = 1
    return m


model = CompletionNetwork()
opt = torch.optim.Adam(model.parameters(), lr=0.002)

for epoch in range(16):
    if fixed:
        model.train()
    total = 0.0
    perm = torch.randperm(len(Xa))
    for i in range(0, len(perm), 32):
        x = Xa[perm[i : i + 32]]
        mask = gen_mask(len(x))
        x_mask = x - x * mask + mpv * mask
        output = model(torch.cat((x_mask, mask), dim=1))
        loss = (((output - x) * mask) ** 2).sum() / mask.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(x)
    if epoch % 4 == 3:
        print("epoch", epoch + 1, f"completion loss {total / len(perm):.5f}")

# predict
if fixed:
    model.eval()
err = []
with torch.no_grad():
    for k in range(len(Xb)):
        x = Xb[k : k + 1]
        mask = gen_mask(1)
        x_mask = x - x * mask + mpv * mask
        output = model(torch.cat((x_mask, mask), dim=1))
        inpainted = x_mask * (1 - mask) + output * mask
        err.append(((((inpainted - x) * mask) ** 2).sum() / mask.sum()).item())

print("RESULT mse_in_hole", round(float(np.mean(err)), 5))
