"""A tracker in the way of GOTURN gives the box of an object from the crops of the last frame and of this one.

The loop fills a batch sample by sample and steps the scheduler in each of these rounds while the iteration number is
a multiple of ``lr_decay_step``, so one decay multiplies the rate dozens of times (fixed: one step for a full batch).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(7)
np.random.seed(7)

SIZE = 24


def draw(cx, cy, w, h, texture):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    inside = (abs(xx - cx) < w / 2) & (abs(yy - cy) < h / 2)
    img = 0.15 * np.random.randn(SIZE, SIZE)
    return (img + inside * texture).astype("float32")


def sample():
    w, h = np.random.uniform(6, 13, 2)
    texture = np.random.uniform(0.6, 1.2)
    prev = draw(SIZE / 2, SIZE / 2, w, h, texture)
    cx, cy = np.random.uniform(8, 16, 2)
    w, h = w * np.random.uniform(0.85, 1.15), h * np.random.uniform(0.85, 1.15)
    curr = draw(cx, cy, w, h, texture)
    box = np.array([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], "float32") / SIZE
    return prev, curr, box


class GoNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.convnet = nn.Sequential(nn.Conv2d(1, 12, 3, 2, 1), nn.ReLU(), nn.Conv2d(12, 16, 3, 2, 1), nn.ReLU())
        self.classifier = nn.Sequential(nn.Linear(16 * 36 * 2, 96), nn.ReLU(), nn.Linear(96, 4))

    def forward(self, x, y):
        x1, x2 = self.convnet(x).flatten(1), self.convnet(y).flatten(1)
        return self.classifier(torch.cat((x1, x2), 1))


def area(t):
    return (t[:, 2:] - t[:, :2]).clamp(min=0).prod(1)


def iou(a, b):
    lt, rb = torch.max(a[:, :2], b[:, :2]), torch.min(a[:, 2:], b[:, 2:])
    inter = (rb - lt).clamp(min=0).prod(1)
    return inter / (area(a) + area(b) - inter).clamp(min=1e-6)


batch_size, num_batches, lr_decay_step = 32, 500, 50
net = GoNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
exp_lr_scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.75)
loss_fn = nn.L1Loss()

itr, curr_batch, running = 0, [], 0.0
while itr < num_batches:
    net.train()
    curr_batch.append(sample())
    done = len(curr_batch) == batch_size
    if not FIXED and itr > 0 and itr % lr_decay_step == 0:
        exp_lr_scheduler.step()
    if not done:
        continue
    prev, curr, box = [torch.tensor(np.stack(v)) for v in zip(*curr_batch, strict=True)]
    optimizer.zero_grad()
    output = net(prev.unsqueeze(1), curr.unsqueeze(1))
    loss = loss_fn(output, box)
    loss.backward()
    optimizer.step()
    if FIXED and itr > 0 and itr % lr_decay_step == 0:
        exp_lr_scheduler.step()
    curr_batch = []
    running += loss.item()
    itr += 1
    if itr % 50 == 0:
        print(f"[{itr}] loss {running / 50:.4f} lr {optimizer.param_groups[0]['lr']:.2e}")
        running = 0.0

net.eval()
prev, curr, box = [torch.tensor(np.stack(v)) for v in zip(*[sample() for _ in range(500)], strict=True)]
with torch.no_grad():
    pred = net(prev.unsqueeze(1), curr.unsqueeze(1))
print("RESULT mean_iou", f"{iou(pred, box).mean().item():.4f}")
