"""A learnable filter bank with a small classifier behind it tells the pitch of short sounds.

The bounds of the filters are kept under ``torch.no_grad``, so their parameters never get a gradient (fixed: with
gradients).
"""

import math
import sys

import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
LENGTH, CLASSES = 800, 4


def make(n, seed):
    """A faint tone in noise; its pitch, one of four that lie close together, is the class."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, CLASSES, (n,), generator=g)
    pitch = torch.tensor([0.90, 1.00, 1.10, 1.20])[y] + 0.006 * torch.randn(n, generator=g)
    phase = 2 * math.pi * torch.rand(n, 1, generator=g)
    t = torch.arange(LENGTH).float()
    x = 0.45 * torch.sin(pitch[:, None] * t + phase) + torch.randn(n, LENGTH, generator=g)
    return x.unsqueeze(1), y


class GaborConstraint(nn.Module):
    """Keep centre frequencies and widths of the filters in their bounds."""

    def __init__(self, size):
        super().__init__()
        z = math.sqrt(2 * math.log(2)) / math.pi
        self.mu_bounds, self.sigma_bounds = (0.0, math.pi), (4 * z, size * z)

    def clip(self, kernel):
        mu = torch.clamp(kernel[:, 0], *self.mu_bounds)
        sigma = torch.clamp(kernel[:, 1], *self.sigma_bounds)
        return torch.stack([mu, sigma], dim=1)

    def forward(self, kernel):
        if fixed:
            return self.clip(kernel)
        with torch.no_grad():
            return self.clip(kernel)


class GaborConv1D(nn.Module):
    def __init__(self, filters=8, size=101, stride=10):
        super().__init__()
        self.size, self.stride = size, stride
        mu = torch.linspace(0.2, 2.8, filters)
        self.kernel = nn.Parameter(torch.stack([mu, torch.full((filters,), 5.0)], 1))
        self.constraint = GaborConstraint(size)

    def forward(self, x):
        mu, sigma = self.constraint(self.kernel).unbind(1)
        t = torch.arange(-(self.size // 2), self.size // 2 + 1).float()
        envelope = torch.exp(-(t**2) / (2 * sigma[:, None] ** 2)) / (math.sqrt(2 * math.pi) * sigma[:, None])
        filters = torch.cat([envelope * torch.cos(mu[:, None] * t), envelope * torch.sin(mu[:, None] * t)])
        out = nn.functional.conv1d(x, filters.unsqueeze(1), stride=self.stride)
        re, im = out.chunk(2, dim=1)
        return re**2 + im**2


class Leaf(nn.Module):
    def __init__(self, filters=8):
        super().__init__()
        self.complex_conv = GaborConv1D(filters)
        self.norm = nn.BatchNorm1d(filters)
        self.head = nn.Sequential(nn.Linear(filters, 32), nn.ReLU(), nn.Linear(32, CLASSES))

    def forward(self, x):
        power = self.complex_conv(x).mean(-1)
        return self.head(self.norm(torch.log(power + 1e-6)))


x_train, y_train = make(1200, 1)
x_test, y_test = make(600, 2)
model = Leaf()
optimizer = torch.optim.Adam(
    [
        {"params": model.complex_conv.parameters(), "lr": 0.02},
        {"params": list(model.norm.parameters()) + list(model.head.parameters()), "lr": 0.003},
    ]
)
criterion = nn.CrossEntropyLoss()
before = model.complex_conv.kernel.detach().clone()
for epoch in range(20):
    model.train()
    total = 0.0
    order = torch.randperm(len(x_train), generator=torch.Generator().manual_seed(epoch))
    for i in range(0, len(order), 40):
        pick = order[i : i + 40]
        loss = criterion(model(x_train[pick]), y_train[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * 40 / len(order)
    model.eval()
    with torch.no_grad():
        accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch} loss {total:.4f} test accuracy {accuracy:.4f}")
print("RESULT accuracy", f"{accuracy:.4f}")
