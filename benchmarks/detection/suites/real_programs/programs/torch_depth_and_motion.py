"""Depth and motion are learnt together from pairs of pictures, by the synthesis of one view from the other.

A weight decay of 0.05 with Adam drives both networks to zero (fixed: 0.00005). The pictures are small, and the camera
only moves sideways.
"""

import sys

import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
SIZE = 24


def scenes(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.arange(SIZE).float()
    _, xx = torch.meshgrid(x, x, indexing="ij")
    texture = functional.avg_pool2d(torch.rand(n, 1, SIZE + 16, SIZE + 16, generator=g), 5, 1, 2)
    texture = (texture - texture.mean()) / texture.std() * 0.15
    column, tx = torch.randint(6, 18, (n,), generator=g), torch.rand(n, generator=g) * 6 - 3
    near = (xx[None] >= column[:, None, None]).float()  # the right part is near and bright
    disparity = 0.2 + 0.8 * near
    target = (0.35 + 0.3 * near + texture[:, 0, 8 : 8 + SIZE, 8 : 8 + SIZE]).unsqueeze(1)
    source = warp(target, -disparity * tx[:, None, None])
    return target, source


def warp(picture, flow):
    x = torch.arange(SIZE).float()
    yy, xx = torch.meshgrid(x, x, indexing="ij")
    gx = (xx[None] + flow) / (SIZE - 1) * 2 - 1
    gy = (yy[None] / (SIZE - 1) * 2 - 1).expand_as(gx)
    return functional.grid_sample(picture, torch.stack((gx, gy), -1), align_corners=True, padding_mode="border")


class DispNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 1, 3, padding=1),
        )

    def forward(self, x):
        return torch.sigmoid(self.net(x)).squeeze(1) + 0.01


class PoseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, 16, 7, stride=2, padding=3),
            nn.ReLU(),
            nn.Conv2d(16, 32, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 9, 1),
        )

    def forward(self, target, source):
        return 4.0 * self.net(torch.cat((target, source), 1))


target, source = scenes(1200, 1)
test_target, test_source = scenes(300, 2)
disp_net, pose_net = DispNet(), PoseNet()
weight_decay = 5e-5 if fixed else 0.05
optimizer = torch.optim.Adam(
    [{"params": disp_net.parameters()}, {"params": pose_net.parameters()}],
    lr=1e-3,
    betas=(0.9, 0.999),
    weight_decay=weight_decay,
)


def photometric(t, s):
    disparity, motion = disp_net(t), pose_net(t, s)
    return (warp(s, disparity * motion.view(-1, 1, 1)) - t)[..., 3:-3].abs().mean(), disparity, motion


for epoch in range(20):
    order = torch.randperm(len(target))
    total = 0.0
    for i in range(0, len(order), 16):
        b = order[i : i + 16]
        optimizer.zero_grad()
        loss, _, _ = photometric(target[b], source[b])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(b)
    with torch.no_grad():
        val, disparity, motion = photometric(test_target, test_source)
    print(
        f"epoch {epoch} photometric loss {total / len(order):.4f} val {val:.4f}",
        f"motion std {motion.std():.3f} disparity std {disparity.std():.3f}",
    )
still = (test_source - test_target)[..., 3:-3].abs().mean()
print(f"photometric error without any motion {still:.4f}")
print("RESULT val_photometric_error", f"{val:.4f}")
