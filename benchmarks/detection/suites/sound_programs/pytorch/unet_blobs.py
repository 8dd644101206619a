"""Tiny U-Net that segments bright ellipses in noisy 32x32 pictures, BCE plus soft Dice."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

rng = np.random.default_rng(8)
torch.manual_seed(8)


def make(n, S=32):
    yy, xx = np.mgrid[:S, :S]
    imgs, masks = np.zeros((n, 1, S, S), np.float32), np.zeros((n, 1, S, S), np.float32)
    for k in range(n):
        m = np.zeros((S, S), bool)
        for _ in range(rng.integers(1, 4)):
            cx, cy = rng.uniform(5, S - 5, 2)
            a, b = rng.uniform(3, 8, 2)
            th = rng.uniform(0, np.pi)
            u = (xx - cx) * np.cos(th) + (yy - cy) * np.sin(th)
            v = -(xx - cx) * np.sin(th) + (yy - cy) * np.cos(th)
            m |= (u / a) ** 2 + (v / b) ** 2 < 1
        slope = rng.normal(0, 0.3, 2)
        bg = slope[0] * (xx / S - 0.5) + slope[1] * (yy / S - 0.5)
        imgs[k, 0] = bg + m * rng.uniform(0.5, 1.0) + rng.normal(0, 0.3, (S, S))
        masks[k, 0] = m
    imgs = (imgs - imgs.mean((2, 3), keepdims=True)) / imgs.std((2, 3), keepdims=True)
    return torch.from_numpy(imgs), torch.from_numpy(masks)


xtr, ytr = make(500)
xte, yte = make(120)


def block(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1),
        nn.GroupNorm(4, o),
        nn.LeakyReLU(0.1),
        nn.Conv2d(o, o, 3, padding=1),
        nn.GroupNorm(4, o),
        nn.LeakyReLU(0.1),
    )


class UNet(nn.Module):
    def __init__(self, w=8):
        super().__init__()
        self.d1, self.d2, self.mid = block(1, w), block(w, 2 * w), block(2 * w, 4 * w)
        self.up2, self.up1 = nn.ConvTranspose2d(4 * w, 2 * w, 2, 2), nn.ConvTranspose2d(2 * w, w, 2, 2)
        self.u2, self.u1 = block(4 * w, 2 * w), block(2 * w, w)
        self.out = nn.Conv2d(w, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.mid(F.max_pool2d(b, 2))
        b = self.u2(torch.cat([self.up2(c), b], 1))
        a = self.u1(torch.cat([self.up1(b), a], 1))
        return self.out(a)


def dice_loss(logits, t, eps=1.0):
    p = torch.sigmoid(logits)
    inter = (p * t).sum((1, 2, 3))
    return (1 - (2 * inter + eps) / (p.sum((1, 2, 3)) + t.sum((1, 2, 3)) + eps)).mean()


net = UNet()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-4)
epochs = 8
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs * 32)
for ep in range(epochs):
    net.train()
    tot = 0.0
    for idx in torch.randperm(len(xtr)).split(16):
        xb, yb = xtr[idx], ytr[idx]
        if torch.rand(()) < 0.5:
            xb, yb = xb.flip(-1), yb.flip(-1)
        z = net(xb)
        loss = 0.5 * F.binary_cross_entropy_with_logits(z, yb) + 0.5 * dice_loss(z, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        tot += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        pm = net(xte) > 0
        iou = ((pm & (yte > 0)).sum() / (pm | (yte > 0)).sum()).item()
    print(f"ep {ep} loss {tot / len(xtr):.4f} IoU {iou:.4f}")
print("RESULT iou %.4f" % iou)
