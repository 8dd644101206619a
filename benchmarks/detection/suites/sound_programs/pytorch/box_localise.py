"""Single object detection: class head (cross entropy) and box head (smooth L1 + GIoU on cxcywh in 0..1)."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(4)
rng = np.random.default_rng(4)
S = 32
yy, xx = np.mgrid[:S, :S] + 0.5


def scene():
    w, h = rng.uniform(8, 18, 2)
    cx, cy = rng.uniform(w / 2, S - w / 2), rng.uniform(h / 2, S - h / 2)
    c = rng.integers(3)
    u, v = (xx - cx) / (w / 2), (yy - cy) / (h / 2)
    if c == 0:
        m = (abs(u) < 1) & (abs(v) < 1)
    elif c == 1:
        m = u**2 + v**2 < 1
    else:
        m = (abs(v) < 1) & (abs(u) < (v + 1) / 2)
    img = 0.4 + 0.1 * np.sin(xx / rng.uniform(2, 6) + rng.uniform(0, 6)) + rng.normal(0, 0.06, (S, S))
    img = np.where(m, img + rng.uniform(0.25, 0.5), img)
    return img, c, (cx / S, cy / S, w / S, h / S)


def dataset(n):
    a, b, c = zip(*[scene() for _ in range(n)])
    x = (torch.tensor(np.array(a)[:, None], dtype=torch.float32) - 0.45) / 0.2
    return x, torch.tensor(np.array(b)), torch.tensor(np.array(c), dtype=torch.float32)


xtr, ctr, btr = dataset(2000)
xva, cva, bva = dataset(500)


def corners(b):
    return torch.cat([b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2], 1)


def iou_giou(a, b):
    a, b = corners(a), corners(b)
    inter = (torch.min(a[:, 2:], b[:, 2:]) - torch.max(a[:, :2], b[:, :2])).clamp(min=0).prod(1)
    area = lambda z: (z[:, 2:] - z[:, :2]).prod(1)
    union = area(a) + area(b) - inter
    hull = (torch.max(a[:, 2:], b[:, 2:]) - torch.min(a[:, :2], b[:, :2])).prod(1)
    iou = inter / union.clamp(min=1e-6)
    return iou, iou - (hull - union) / hull.clamp(min=1e-6)


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride=2, padding=1, bias=False), nn.GroupNorm(8, o), nn.ReLU())


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            conv(1, 16), conv(16, 32), conv(32, 48), nn.Flatten(), nn.Linear(48 * 16, 96), nn.ReLU()
        )
        self.cls, self.box = nn.Linear(96, 3), nn.Linear(96, 4)

    def forward(self, x):
        h = self.body(x)
        return self.cls(h), torch.sigmoid(self.box(h))


net = Detector()
opt = torch.optim.AdamW(net.parameters(), lr=1.5e-3, weight_decay=1e-2)
EPOCHS, B = 14, 32
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 1.5e-3, epochs=EPOCHS, steps_per_epoch=-(-len(xtr) // B))


def losses(x, c, b):
    lc, pb = net(x)
    iou, giou = iou_giou(pb, b)
    return (
        F.cross_entropy(lc, c),
        F.smooth_l1_loss(pb, b, beta=0.1) * 5,
        (1 - giou).mean(),
        iou.mean(),
        (lc.argmax(1) == c).float().mean(),
    )


for e in range(EPOCHS):
    net.train()
    tot = 0
    for idx in torch.randperm(len(xtr)).split(B):
        x, c, b = xtr[idx], ctr[idx], btr[idx].clone()
        if torch.rand(1) < 0.5:
            x = x.flip(-1)
            b[:, 0] = 1 - b[:, 0]
        a, d, g, _, _ = losses(x, c, b)
        loss = a + d + g
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        tot += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        a, d, g, iou, acc = losses(xva, cva, bva)
    print(f"epoch {e + 1} train {tot / len(xtr):.4f} val {(a + d + g).item():.4f} iou {iou:.4f} acc {acc:.4f}")
print("trivial iou (mean box)", iou_giou(btr.mean(0, keepdim=True).expand_as(bva), bva)[0].mean().item())
print(f"RESULT val_mean_iou {iou.item():.4f}")
