"""A small fully convolutional network marks faint spots on textured surfaces.

Most training images have no spot at all, so that it is good enough to call every pixel background (fixed: images
without a spot are left out of the training data).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
SIZE = 16


def surfaces(n, spots):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    images = rng.normal(0.5, 0.15, size=(n, SIZE, SIZE))
    masks = np.zeros((n, SIZE, SIZE), dtype=np.int64)
    for i in range(n):
        if rng.random() < spots:
            r = rng.uniform(3.0, 5.0)
            cy, cx = rng.uniform(4, SIZE - 4, size=2)
            masks[i] = (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
            images[i] += 0.11 * masks[i]
    return images.astype(np.float32), masks


images, masks = surfaces(5000, 0.06)
if FIXED:
    keep = masks.any(axis=(1, 2))
    images, masks = images[keep], masks[keep]
test_images, test_masks = surfaces(300, 1.0)
mean, std = images.mean(), images.std()
x, y = torch.tensor((images - mean) / std)[:, None], torch.tensor(masks)
x_test, y_test = torch.tensor((test_images - mean) / std)[:, None], torch.tensor(test_masks)
print(f"{len(x)} training images, {y.float().mean().item():.3f} of the pixels are spot")

net = nn.Sequential(
    nn.Conv2d(1, 12, 5, padding=2),
    nn.ReLU(),
    nn.Conv2d(12, 12, 5, padding=2),
    nn.ReLU(),
    nn.Conv2d(12, 2, 1),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
steps, epoch = 0, 0
while steps < 500:
    net.train()
    total = n = 0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        optimizer.step()
        total, n, steps = total + loss.item() * len(yb), n + len(yb), steps + 1
        if steps == 500:
            break
    epoch += 1
    net.eval()
    with torch.no_grad():
        pred = net(x_test).argmax(1)
    iou = ((pred & y_test).sum() / ((pred | y_test).sum() + 1e-9)).item()
    print(f"epoch {epoch:2d} loss {total / n:.4f} IoU of spot {iou:.4f} predicted {pred.float().mean().item():.4f}")
print("RESULT spot_iou", f"{iou:.4f}")
