"""A flow matching model makes digits of a wanted class; noise and data of a batch are paired by optimal transport.

The pairing reorders the samples but not their class labels, which then belong to other samples (fixed: the labels are
reordered too).
"""

import sys

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
np.random.seed(0)
torch.set_num_threads(1)


class OTFlowMatcher:
    def __init__(self, sigma=0.0, seed=0):
        self.sigma = sigma
        self.rng = np.random.default_rng(seed)

    def pair(self, x0, x1):
        cost = torch.cdist(x0, x1).pow(2).numpy()
        rows, cols = linear_sum_assignment(cost)
        pick = self.rng.permutation(len(rows))
        return torch.from_numpy(rows[pick]), torch.from_numpy(cols[pick])

    def sample(self, x0, x1, y):
        i, j = self.pair(x0, x1)
        x0, x1 = x0[i], x1[j]
        if fixed:
            y = y[j]
        t = torch.rand(len(x0), 1)
        xt = (1 - t) * x0 + t * x1 + self.sigma * torch.randn_like(x0)
        return t, xt, x1 - x0, y


class VelocityNet(nn.Module):
    def __init__(self, dim=64, classes=10, width=320):
        super().__init__()
        self.label = nn.Embedding(classes, 32)
        self.net = nn.Sequential(
            nn.Linear(dim + 1 + 32, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, dim),
        )

    def forward(self, t, x, y):
        return self.net(torch.cat([x, t, self.label(y)], 1))


digits = load_digits()
x = torch.tensor(digits.data / 8.0 - 1.0, dtype=torch.float32)
y = torch.tensor(digits.target)
model = VelocityNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 140)
FM = OTFlowMatcher()

for epoch in range(140):
    order = torch.randperm(len(x))
    total = 0.0
    for i in range(0, len(x), 128):
        x1, yb = x[order[i : i + 128]], y[order[i : i + 128]]
        x0 = torch.randn_like(x1)
        t, xt, ut, yb = FM.sample(x0, x1, yb)
        loss = (model(t, xt, yb) - ut).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x1)
    scheduler.step()
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1} loss {total / len(x):.4f}")

model.eval()
with torch.no_grad():
    wanted = torch.arange(10).repeat_interleave(50)
    z = torch.randn(len(wanted), 64)
    steps = 50
    for k in range(steps):
        z = z + model(torch.full((len(z), 1), k / steps), z, wanted) / steps
judge = KNeighborsClassifier(3).fit(x.numpy(), y.numpy())
accuracy = (judge.predict(z.numpy()) == wanted.numpy()).mean()
print("RESULT generated_class_accuracy", f"{accuracy:.4f}")
