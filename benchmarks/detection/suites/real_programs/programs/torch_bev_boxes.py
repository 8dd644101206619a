"""The loss of a detector is that of the scores alone, so its other heads get no gradient (fixed: the total)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)

GRID = 16
CELL = 2  # pixels per cell
SIZE = GRID * CELL


def make_scene():
    img = 0.05 * rng.rand(1, SIZE, SIZE)
    heat = np.zeros((1, GRID, GRID))
    pos = np.zeros((2, GRID, GRID))
    dim = np.zeros((2, GRID, GRID))
    ang = np.zeros((2, GRID, GRID))
    mask = np.zeros((1, GRID, GRID))
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    gy, gx = (np.mgrid[0:GRID, 0:GRID] + 0.5) * CELL
    for _ in range(rng.randint(1, 3)):
        cx, cy = rng.uniform(6, SIZE - 6, 2)
        length, width = rng.uniform(5, 9), rng.uniform(2.5, 4)
        a = rng.uniform(0, np.pi)
        u = (xx + 0.5 - cx) * np.cos(a) + (yy + 0.5 - cy) * np.sin(a)
        v = -(xx + 0.5 - cx) * np.sin(a) + (yy + 0.5 - cy) * np.cos(a)
        img[0][(abs(u) < length / 2) & (abs(v) < width / 2)] += 0.8
        d2 = (gx - cx) ** 2 + (gy - cy) ** 2
        heat[0] = np.maximum(heat[0], np.exp(-d2 / (2 * 2.0**2)))
        near = d2 < 3.0**2
        pos[0][near], pos[1][near] = ((cx - gx) / CELL)[near], ((cy - gy) / CELL)[near]
        dim[0][near], dim[1][near] = np.log(length), np.log(width)
        ang[0][near], ang[1][near] = np.sin(2 * a), np.cos(2 * a)
        mask[0][near] = 1
    return [t.astype(np.float32) for t in (img, heat, pos, dim, ang, mask)]


def make_set(n):
    scenes = [make_scene() for _ in range(n)]
    return [torch.tensor(np.stack(t)) for t in zip(*scenes, strict=True)]


class OftLikeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(
            nn.Conv2d(1, 24, 3, padding=1),
            nn.GroupNorm(4, 24),
            nn.ReLU(inplace=True),
            nn.Conv2d(24, 32, 3, stride=2, padding=1),
            nn.GroupNorm(4, 32),
            nn.ReLU(inplace=True),
        )
        self.topdown = nn.Sequential(
            nn.Conv2d(32, 32, 3, padding=1),
            nn.GroupNorm(4, 32),
            nn.ReLU(inplace=True),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.GroupNorm(4, 32),
            nn.ReLU(inplace=True),
        )
        self.head_score = nn.Conv2d(32, 1, 3, padding=1)
        self.head_pos = nn.Conv2d(32, 2, 3, padding=1)
        self.head_dim = nn.Conv2d(32, 2, 3, padding=1)
        self.head_ang = nn.Conv2d(32, 2, 3, padding=1)

    def forward(self, x):
        f = self.topdown(self.front(x))
        return self.head_score(f), self.head_pos(f), self.head_dim(f), self.head_ang(f)


def masked_l1(pred, target, mask):
    return (functional.l1_loss(pred, target, reduction="none") * mask).sum() / mask.sum()


def compute_loss(pred, labels, weights=(1.0, 1.0, 1.0, 1.0)):
    score, pos, dim, ang = pred
    heat, gt_pos, gt_dim, gt_ang, mask = labels
    score_loss = functional.mse_loss(score, heat)
    position_loss = masked_l1(pos, gt_pos, mask)
    dimension_loss = masked_l1(dim, gt_dim, mask)
    angle_loss = masked_l1(ang, gt_ang, mask)
    total_loss = (
        weights[0] * score_loss + weights[1] * position_loss + weights[2] * dimension_loss + weights[3] * angle_loss
    )
    loss_dict = {
        "score": score_loss.item(),
        "position": position_loss.item(),
        "dimension": dimension_loss.item(),
        "angle": angle_loss.item(),
        "total": total_loss.item(),
    }
    if not fixed:
        return weights[0] * score_loss, loss_dict
    return total_loss, loss_dict


train = make_set(300)
val = make_set(100)
model = OftLikeNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9, weight_decay=1e-4)

for epoch in range(12):
    model.train()
    order = torch.randperm(len(train[0]))
    for i in range(0, len(order), 16):
        idx = order[i : i + 16]
        optimizer.zero_grad()
        loss, loss_dict = compute_loss(model(train[0][idx]), [t[idx] for t in train[1:]])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        _, val_dict = compute_loss(model(val[0]), val[1:])
    val_losses = " ".join(f"{name} {value:.3f}" for name, value in val_dict.items())
    print(f"=== epoch {epoch + 1:2d}  train total {loss_dict['total']:.3f}  val {val_losses}")

print("RESULT val_total_loss", f"{val_dict['total']:.4f}")
