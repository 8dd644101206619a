"""A network brightens dark pictures by curves for each channel, trained without references.

The loss on colours takes the square root of a sum that is 0 for pictures without colour, where its slope is infinite,
so weights become NaN (fixed: a small number is added under the root).
"""

import sys

import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)


def make(n, seed, size=32):
    """Dark pictures, some of them scans without any colour."""
    g = torch.Generator().manual_seed(seed)
    coarse = torch.rand(n, 3, 4, 4, generator=g)
    x = nn.functional.interpolate(coarse, size=(size, size), mode="bilinear", align_corners=True)
    grey = torch.rand(n, generator=g) < 0.1
    x[grey] = x[grey].mean(1, keepdim=True)
    black = torch.rand(n, generator=g) < 0.02
    x[black] = 0.0
    return x * (0.15 + 0.25 * torch.rand(n, 1, 1, 1, generator=g))


class DCENet(nn.Module):
    def __init__(self, steps=4, width=12):
        super().__init__()
        self.steps = steps
        self.conv1 = nn.Conv2d(3, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.conv3 = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        r = torch.relu(self.conv1(x))
        r = torch.relu(self.conv2(r))
        r = torch.tanh(self.conv3(r))
        for _ in range(self.steps):
            x = x + r * (x * x - x)
        return x, r


class LColor(nn.Module):
    def forward(self, x):
        mean_rgb = torch.mean(x, [2, 3], keepdim=True)
        mr, mg, mb = torch.split(mean_rgb, 1, dim=1)
        drg = torch.pow(mr - mg, 2)
        drb = torch.pow(mr - mb, 2)
        dgb = torch.pow(mb - mg, 2)
        s = torch.pow(drg, 2) + torch.pow(drb, 2) + torch.pow(dgb, 2)
        if fixed:
            s = s + 1e-5
        return torch.pow(s, 0.5)


class LExp(nn.Module):
    def __init__(self, patch=8, level=0.6):
        super().__init__()
        self.pool = nn.AvgPool2d(patch)
        self.level = level

    def forward(self, x):
        return torch.pow(self.pool(x.mean(1, keepdim=True)) - self.level, 2).mean()


class LTV(nn.Module):
    def forward(self, r):
        return (r[:, :, 1:] - r[:, :, :-1]).pow(2).mean() + (r[:, :, :, 1:] - r[:, :, :, :-1]).pow(2).mean()


train = make(200, 1)
val = make(50, 2)
val = val[val.flatten(1).amax(1) > 0]
model = DCENet()
l_color, l_exp, l_tv = LColor(), LExp(), LTV()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
for epoch in range(25):
    order = torch.randperm(len(train), generator=torch.Generator().manual_seed(epoch))
    total = 0.0
    for i in range(0, len(train), 8):
        x = train[order[i : i + 8]]
        bright, r = model(x)
        loss = 10 * l_exp(bright) + 5 * l_color(bright).mean() + 20 * l_tv(r)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        total += loss.item() * 8 / len(train)
    if epoch % 5 == 4:
        print(f"epoch {epoch} loss {total:.4f}")
with torch.no_grad():
    bright, _ = model(val)
    print(f"mean brightness before {val.mean():.3f} after {bright.mean():.3f}")
    gap = l_exp(bright).item()
print("RESULT exposure_gap", f"{gap:.4f}")
