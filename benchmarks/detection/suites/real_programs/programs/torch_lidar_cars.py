"""A small network in the way of VoxelNet finds cars in a bird's-eye view of lidar points.

All convolutions of the region proposal network are followed by batch normalisation and ReLU, even the last ones, which
predict the scores and the offsets of the boxes. So no offset can be negative and no score can be below one half
(fixed: the last convolutions have neither).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)
size, stride = 32, 4
cells = size // stride
anchor_w, anchor_l = 4.0, 8.0


def make_scenes(n):
    """Occupancy and height maps with up to three cars, and the targets of the cells that hold their centres."""
    x = np.zeros((n, 2, size, size), "float32")
    prob = np.zeros((n, cells, cells), "float32")
    reg = np.zeros((n, 4, cells, cells), "float32")
    yy, xx = np.mgrid[0:size, 0:size] + 0.5
    for i in range(n):
        x[i, 0] = rng.random((size, size)) < 0.03
        x[i, 1] = x[i, 0] * rng.uniform(0, 0.4, (size, size))
        for cx0 in rng.permutation([5, 16, 27])[: rng.integers(1, 4)]:
            cy, cx = rng.uniform(6, 26), cx0 + rng.uniform(-2, 2)
            w, length = anchor_w * np.exp(rng.normal(0, 0.15)), anchor_l * np.exp(rng.normal(0, 0.15))
            inside = (np.abs(xx - cx) < w / 2) & (np.abs(yy - cy) < length / 2) & (rng.random((size, size)) < 0.85)
            x[i, 0][inside] = 1
            x[i, 1][inside] = rng.uniform(0.6, 1.0, inside.sum())
            r, c = int(cy // stride), int(cx // stride)
            prob[i, r, c] = 1
            reg[i, :, r, c] = [
                (cx - (c + 0.5) * stride) / stride * 2,
                (cy - (r + 0.5) * stride) / stride * 2,
                np.log(w / anchor_w) * 3,
                np.log(length / anchor_l) * 3,
            ]
    return torch.from_numpy(x), torch.from_numpy(prob), torch.from_numpy(reg)


def conv(i, o, kernel=3, s=1, activation=True):
    layers = [nn.Conv2d(i, o, kernel, stride=s, padding=kernel // 2)]
    if activation:
        layers += [nn.BatchNorm2d(o), nn.ReLU()]
    return nn.Sequential(*layers)


class RPN(nn.Module):
    def __init__(self):
        super().__init__()
        self.block1 = nn.Sequential(conv(2, 16), conv(16, 24, s=2), conv(24, 24))
        self.block2 = nn.Sequential(conv(24, 32, s=2), conv(32, 32), conv(32, 32))
        self.prob = conv(32, 1, kernel=1, activation=not FIXED)
        self.reg = conv(32, 4, kernel=1, activation=not FIXED)

    def forward(self, x):
        x = self.block2(self.block1(x))
        return self.prob(x).squeeze(1), self.reg(x)


def rpn_loss(p, r, prob, reg):
    cls = functional.binary_cross_entropy_with_logits(p, prob, pos_weight=torch.tensor(3.0))
    offsets = (functional.smooth_l1_loss(r, reg, reduction="none").sum(1) * prob).sum() / prob.sum()
    return cls + 0.5 * offsets


def f1_score(model, data):
    """A car is found if a predicted box in the right cell has its centre within 0.8 and its size within 20 %."""
    model.eval()
    x, prob, reg = data
    with torch.no_grad():
        p, r = model(x)
    found = torch.sigmoid(p) > 0.5
    d = (r - reg).abs()
    near = ((d[:, :2] * stride / 2).square().sum(1).sqrt() < 0.8) & (d[:, 2:].amax(1) / 3 < 0.2)
    hits = (found & (prob == 1) & near).sum().item()
    return 2 * hits / (found.sum().item() + prob.sum().item())


train, test = make_scenes(640), make_scenes(200)
model = RPN()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loader = DataLoader(TensorDataset(*train), batch_size=32, shuffle=True)
epochs = 9
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)

for epoch in range(epochs):
    model.train()
    total = 0.0
    for x, prob, reg in loader:
        optimizer.zero_grad()
        loss = rpn_loss(*model(x), prob, reg)
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}  f1 {f1_score(model, test):.4f}")

print("RESULT f1", f"{f1_score(model, test):.4f}")
