"""A network for short clips sees a few frames of each and tells which way a blob moves, trained by momentum SGD.

A step takes the gradients from four batches, but another ``optimizer.step()`` stands behind the condition, so that
every batch makes a step with all that has added up, unscaled (fixed: without it).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(31)
rng = np.random.default_rng(31)

SEGMENTS, SIZE, KINDS, ITER_SIZE = 4, 12, 8, 4


def make_clips(n):
    kind = rng.integers(0, KINDS, n)
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    clips = rng.normal(0, 0.3, (n, SEGMENTS, SIZE, SIZE))
    for i, k in enumerate(kind):
        angle = 2 * np.pi * k / KINDS
        cy, cx = rng.uniform(4, 8, 2)
        for t in range(SEGMENTS):
            y, x = cy + 1.5 * (t - 1.5) * np.sin(angle), cx + 1.5 * (t - 1.5) * np.cos(angle)
            clips[i, t] += 2 * np.exp(-((yy - y) ** 2 + (xx - x) ** 2) / 3)
    return torch.tensor(clips, dtype=torch.float32), torch.tensor(kind)


class ClipNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.net3d = nn.Sequential(
            nn.Conv3d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool3d((1, 2, 2)),
            nn.Flatten(),
            nn.Linear(16 * SEGMENTS * 9, 64),
            nn.ReLU(),
        )
        self.new_fc = nn.Linear(64, KINDS)

    def forward(self, clips):
        b = clips.shape[0]
        frames = self.base(clips.reshape(b * SEGMENTS, 1, SIZE, SIZE))
        volume = frames.view(b, SEGMENTS, 8, SIZE // 2, SIZE // 2).transpose(1, 2)
        return self.new_fc(self.net3d(volume))


train_loader = DataLoader(TensorDataset(*make_clips(1280)), batch_size=16, shuffle=True)
x_val, y_val = make_clips(400)
model = ClipNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4, nesterov=True)

for epoch in range(8):
    model.train()
    losses = []
    optimizer.zero_grad()
    for i, (clips, target) in enumerate(train_loader):
        loss = criterion(model(clips), target)
        loss.backward()
        if (i + 1) % ITER_SIZE == 0:
            for p in model.parameters():
                p.grad /= ITER_SIZE
            optimizer.step()
            optimizer.zero_grad()
        if not FIXED:
            optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        acc = (model(x_val).argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch + 1:2d}  train loss {np.mean(losses):.4f}  val accuracy {acc:.4f}")
print("RESULT val_accuracy", f"{acc:.4f}")
