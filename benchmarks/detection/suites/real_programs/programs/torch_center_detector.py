"""A detector without anchors finds the centre and the size of bright rectangles, by heat maps.

The loop calls backward and step, but the gradients of earlier batches stay and add up (fixed: optimizer.zero_grad()
after each step).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(1)
torch.set_num_threads(1)
rng = np.random.default_rng(1)
S, D = 32, 2
H = S // D


def make_set(n):
    img = rng.normal(0, 0.6, (n, 1, S, S))
    hm = np.zeros((n, 1, H, H))
    wh = np.zeros((n, 2))
    ct = np.zeros((n, 2), dtype=int)
    gy, gx = np.mgrid[0:H, 0:H]
    for i in range(n):
        w, h = rng.integers(6, 15, 2)
        x, y = rng.integers(0, S - w), rng.integers(0, S - h)
        img[i, 0, y : y + h, x : x + w] += 1.0
        cx, cy = int((x + w / 2) / D), int((y + h / 2) / D)
        hm[i, 0] = np.exp(-((gx - cx) ** 2 + (gy - cy) ** 2) / 2.0)
        hm[i, 0, cy, cx] = 1
        wh[i] = w / 10, h / 10
        ct[i] = cx, cy
    img, hm, wh = (torch.tensor(a, dtype=torch.float32) for a in (img, hm, wh))
    return img, hm, wh, torch.tensor(ct)


class CenterNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 5, padding=2),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 32, 5, padding=2),
            nn.BatchNorm2d(32),
            nn.ReLU(),
        )
        self.hm = nn.Conv2d(32, 1, 1)
        self.wh = nn.Conv2d(32, 2, 1)
        nn.init.constant_(self.hm.bias, -2.19)

    def forward(self, x):
        f = self.backbone(x)
        return torch.sigmoid(self.hm(f)).clamp(1e-4, 1 - 1e-4), self.wh(f)


def focal_loss(pred, gt):
    pos = gt.eq(1).float()
    pos_loss = torch.log(pred) * (1 - pred) ** 2 * pos
    neg_loss = torch.log(1 - pred) * pred**2 * (1 - gt) ** 4 * (1 - pos)
    return -(pos_loss.sum() + neg_loss.sum()) / pos.sum()


def at_center(maps, ct):
    return maps[torch.arange(len(maps)), :, ct[:, 1], ct[:, 0]]


train = make_set(1000)
val = make_set(300)
loader = DataLoader(TensorDataset(*train), batch_size=32, shuffle=True)
model = CenterNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    model.train()
    hm_sum = wh_sum = 0.0
    for img, hm, wh, ct in loader:
        out_hm, out_wh = model(img)
        hm_loss = focal_loss(out_hm, hm)
        wh_loss = functional.l1_loss(at_center(out_wh, ct), wh)
        loss = hm_loss + 0.5 * wh_loss
        loss.backward()
        optimizer.step()
        if FIXED:
            optimizer.zero_grad()
        hm_sum += hm_loss.item()
        wh_sum += wh_loss.item()
    print(f"epoch {epoch + 1}: hm_loss {hm_sum / len(loader):.4f} wh_loss {wh_sum / len(loader):.4f}")

model.eval()
img, hm, wh, ct = val
with torch.no_grad():
    out_hm, out_wh = model(img)
    peak = out_hm.flatten(1).argmax(1)
    px, py = peak % H, peak // H
    size = out_wh[torch.arange(len(img)), :, py, px]
near = ((px - ct[:, 0]).abs() <= 1) & ((py - ct[:, 1]).abs() <= 1)
good = near & ((size - wh).abs() < 0.2).all(1)
print(f"centre found {near.float().mean().item():.3f}")
print("RESULT val_detected", f"{good.float().mean().item():.4f}")
