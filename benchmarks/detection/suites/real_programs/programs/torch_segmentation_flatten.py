"""Class scores of pixels are flattened without moving the class axis to the end (fixed: moved first)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)

n, size, classes = 600, 16, 3
images = rng.normal(0, 0.15, (n, 1, size, size)).astype("float32")
masks = np.zeros((n, size, size), dtype="int64")
for i in range(n):
    for kind in (1, 2):
        r, c = rng.integers(0, size - 6, 2)
        h, w = rng.integers(4, 7, 2)
        masks[i, r : r + h, c : c + w] = kind
    images[i, 0] += np.array([0.0, 1.0, -1.0])[masks[i]]
images, masks = torch.from_numpy(images), torch.from_numpy(masks)
loader = DataLoader(TensorDataset(images[:480], masks[:480]), batch_size=16, shuffle=True)
x_val, y_val = images[480:], masks[480:]

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, 16, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, classes, 1),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(8):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        logits = model(xb)
        pixels = logits.permute(0, 2, 3, 1).reshape(-1, classes) if fixed else logits.view(-1, classes)
        loss = criterion(pixels, yb.reshape(-1))
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        pred = model(x_val).argmax(1)
    ious = [
        ((pred == k) & (y_val == k)).sum().item() / max(1, ((pred == k) | (y_val == k)).sum().item())
        for k in range(classes)
    ]
    print(f"epoch {epoch + 1} loss {total / len(loader):.4f} val_mean_iou {np.mean(ious):.4f}")

print("RESULT val_mean_iou", np.mean(ious))
