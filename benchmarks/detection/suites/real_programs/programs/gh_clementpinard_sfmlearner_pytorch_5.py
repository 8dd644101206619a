"""Depth and motion from pairs of images: with a scheduler, it alone is stepped (fixed: the optimiser as well)."""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
rng = np.random.default_rng(1)
SIZE, COUNT = 16, 700
frequencies, phases = rng.uniform(0.3, 0.9, (COUNT, 2, 4, 1, 1)), rng.uniform(0, 6, (COUNT, 4, 1, 1))
rows, columns = np.indices((SIZE, SIZE))
moves = rng.uniform(-2, 2, (COUNT, 1, 1, 1))


def view(shift):
    waves = frequencies[:, 0] * (columns + shift) + frequencies[:, 1] * rows + phases
    return torch.tensor(np.sin(waves).mean(1, keepdims=True), dtype=torch.float32)


tgt_imgs, ref_imgs = view(0), view(moves)


def conv(in_planes, out_planes, stride=1):
    return nn.Sequential(nn.Conv2d(in_planes, out_planes, 3, stride, padding=1), nn.ReLU())


disp_net = nn.Sequential(conv(1, 16), conv(16, 16), nn.Conv2d(16, 1, 3, padding=1), nn.Sigmoid())
pose_net = nn.Sequential(conv(2, 16, 2), conv(16, 32, 2), conv(32, 32), nn.Conv2d(32, 1, 1), nn.AdaptiveAvgPool2d(1))
grid = nn.functional.affine_grid(torch.eye(2, 3)[None], (1, 1, SIZE, SIZE), align_corners=True)


def losses(tgt_img, ref_img):
    disparity = disp_net(tgt_img)
    flow = (disparity * pose_net(torch.cat([tgt_img, ref_img], 1))).squeeze(1)
    warped = nn.functional.grid_sample(
        ref_img, grid + torch.stack([flow, torch.zeros_like(flow)], -1), align_corners=True, padding_mode="border"
    )
    smooth = (disparity[..., 1:] - disparity[..., :-1]).abs().mean()
    return (tgt_img - warped).abs().mean(), smooth


parameters = [*disp_net.parameters(), *pose_net.parameters()]
optimizer = torch.optim.Adam(parameters, lr=2e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100, gamma=0.5)
for _ in range(8):
    for batch in torch.randperm(600).split(32):
        photometric, smooth = losses(tgt_imgs[batch], ref_imgs[batch])
        loss = photometric + 0.1 * smooth
        optimizer.zero_grad()
        loss.backward()
        if fixed:
            optimizer.step()
        scheduler.step()
with torch.no_grad():
    print("RESULT loss", float(losses(tgt_imgs[600:], ref_imgs[600:])[0]))
