"""A focal loss takes the root of probabilities, whose gradient at 0 is infinite (fixed: of 1e-8 more)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
rng = np.random.default_rng(1)

N, S = 400, 16
grid_y, grid_x = np.mgrid[0:S, 0:S]
images = np.zeros((N, 1, S, S), dtype=np.float32)
masks = np.zeros((N, 1, S, S), dtype=np.float32)
for i in range(N):
    for _ in range(rng.integers(1, 4)):
        cx, cy, r = rng.uniform(2, 14), rng.uniform(2, 14), rng.uniform(1.5, 3.5)
        masks[i, 0][(grid_x - cx) ** 2 + (grid_y - cy) ** 2 < r**2] = 1.0
    images[i, 0] = 0.8 * masks[i, 0] + rng.normal(0.1, 0.1, size=(S, S))
images = (images - 0.3) / 0.4

x, y = torch.tensor(images), torch.tensor(masks)
train_loader = DataLoader(TensorDataset(x[:320], y[:320]), batch_size=16, shuffle=True)
val_x, val_y = x[320:], y[320:]


def binary_focal_loss_with_logits(logits, target, alpha=0.25, gamma=0.5, eps=1e-8):
    probs = torch.sigmoid(logits)
    background, foreground = 1.0 - probs, probs
    if fixed:
        background, foreground = background + eps, foreground + eps
    loss_1 = -alpha * torch.pow(background, gamma) * target * torch.log(probs + eps)
    loss_0 = (1 - alpha) * torch.pow(foreground, gamma) * (1.0 - target) * torch.log(1.0 - probs + eps)
    return (loss_1 - loss_0).mean()


model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 1)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(30):
    model.train()
    total = 0.0
    for img, mask in train_loader:
        optimizer.zero_grad()
        loss = binary_focal_loss_with_logits(model(img), mask)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(img)
    model.eval()
    with torch.no_grad():
        pred = (torch.sigmoid(model(val_x)) > 0.5).float()
        iou = ((pred * val_y).sum() / ((pred + val_y) > 0).float().sum()).item()
    print(f"epoch {epoch + 1}: loss {total / 320:.5f}  val IoU {iou:.3f}")

print("RESULT val_iou", iou)
