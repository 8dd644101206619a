"""Binary segmentation with a small U-Net: BCE + dice loss, batch norm, augmentation by flips, OneCycle."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
S = 32
yy, xx = np.mgrid[:S, :S]


def picture():
    img = rng.normal(0.4, 0.05) + 0.12 * np.sin(xx * rng.uniform(0.05, 0.4) + rng.uniform(0, 6)) * np.cos(
        yy * rng.uniform(0.05, 0.4)
    )
    mask = np.zeros((S, S), bool)
    for _ in range(rng.integers(1, 4)):  # cells
        cx, cy, a, b, th = (
            rng.uniform(4, 28),
            rng.uniform(4, 28),
            rng.uniform(3, 7),
            rng.uniform(3, 6),
            rng.uniform(0, np.pi),
        )
        u = (xx - cx) * np.cos(th) + (yy - cy) * np.sin(th)
        v = -(xx - cx) * np.sin(th) + (yy - cy) * np.cos(th)
        m = (u / a) ** 2 + (v / b) ** 2 < 1
        img = np.where(m, img + rng.uniform(0.15, 0.3), img)
        mask |= m
    for _ in range(rng.integers(0, 3)):  # bright thin scratches: not cells
        r = rng.integers(0, S)
        img[r] += 0.25
    return img + rng.normal(0, 0.08, (S, S)), mask


def dataset(n):
    im, ma = zip(*[picture() for _ in range(n)])
    return torch.tensor(np.array(im)[:, None], dtype=torch.float32), torch.tensor(
        np.array(ma)[:, None], dtype=torch.float32
    )


xtr, ytr = dataset(384)
xva, yva = dataset(150)
m, s = xtr.mean(), xtr.std()
xtr, xva = (xtr - m) / s, (xva - m) / s


def double(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1, bias=False),
        nn.BatchNorm2d(o),
        nn.ReLU(inplace=True),
        nn.Conv2d(o, o, 3, padding=1, bias=False),
        nn.BatchNorm2d(o),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.d1, self.d2, self.d3 = double(1, c), double(c, 2 * c), double(2 * c, 4 * c)
        self.up2 = nn.ConvTranspose2d(4 * c, 2 * c, 2, stride=2)
        self.u2 = double(4 * c, 2 * c)
        self.up1 = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.u1 = double(2 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.d3(F.max_pool2d(b, 2))
        b = self.u2(torch.cat([self.up2(c), b], 1))
        a = self.u1(torch.cat([self.up1(b), a], 1))
        return self.out(a)


def dice_loss(logits, y):
    p = torch.sigmoid(logits)
    inter = (p * y).sum((1, 2, 3))
    return (1 - (2 * inter + 1) / (p.sum((1, 2, 3)) + y.sum((1, 2, 3)) + 1)).mean()


def iou(logits, y):
    p = logits > 0
    y = y > 0.5
    return ((p & y).sum() / (p | y).sum()).item()


net = UNet()
E, B = 12, 16
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-2)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=3e-3, total_steps=E * (len(xtr) // B))
for epoch in range(E):
    net.train()
    tot = 0
    for idx in torch.randperm(len(xtr)).split(B):
        x, y = xtr[idx], ytr[idx]
        if torch.rand(1) < 0.5:
            x, y = x.flip(-1), y.flip(-1)
        if torch.rand(1) < 0.5:
            x, y = x.flip(-2), y.flip(-2)
        logits = net(x)
        loss = F.binary_cross_entropy_with_logits(logits, y) + dice_loss(logits, y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        sched.step()
        tot += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        v = net(xva)
        vl = F.binary_cross_entropy_with_logits(v, yva) + dice_loss(v, yva)
    print(f"epoch {epoch + 1} train {tot / len(xtr):.4f} val {vl.item():.4f} iou {iou(v, yva):.4f}")
print("trivial iou", yva.mean().item())
print(f"RESULT val_iou {iou(v, yva):.4f}")
