"""A CNN finds the box around the one bright thing in a picture, from a data set that can reorder its pictures.

Only the list of the picture files is shuffled and the list of targets stays as it was, so that each picture gets the
box of another one (fixed: both are put in the same order).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
SIZE = 20


class BoxDataset(Dataset):
    def __init__(self, n, seed, shuffle=False):
        rng = np.random.RandomState(seed)
        self.files = {}
        names, self.targets = [], []
        for i in range(n):
            width, height = rng.randint(4, 11, 2)
            left, top = rng.randint(0, SIZE - width + 1), rng.randint(0, SIZE - height + 1)
            image = rng.normal(0.2, 0.08, (SIZE, SIZE))
            image[top : top + height, left : left + width] += 0.7
            name = f"image_{i:05d}.png"
            self.files[name] = ((image - 0.35) / 0.35).astype("float32")
            names.append(name)
            box = [left + width / 2, top + height / 2, width, height]
            self.targets.append(np.array(box, dtype="float32") / SIZE)
        self.paths = names
        if shuffle:
            order = rng.permutation(n)
            self.paths = [self.paths[i] for i in order]
            if FIXED:
                self.targets = [self.targets[i] for i in order]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        image = self.files[self.paths[index]]
        return torch.from_numpy(image)[None], torch.from_numpy(self.targets[index])


def overlap(a, b):
    low = torch.maximum(a[:, :2] - a[:, 2:] / 2, b[:, :2] - b[:, 2:] / 2)
    high = torch.minimum(a[:, :2] + a[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2)
    shared = (high - low).clamp(min=0).prod(1)
    return shared / (a[:, 2:].prod(1) + b[:, 2:].prod(1) - shared)


train_loader = DataLoader(BoxDataset(1500, 0, shuffle=True), batch_size=32)
val_loader = DataLoader(BoxDataset(300, 1), batch_size=300)

model = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(12, 24, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(600, 64),
    nn.ReLU(),
    nn.Linear(64, 4),
)
criterion = nn.SmoothL1Loss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(10):
    model.train()
    total = 0.0
    for images, boxes in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(images), boxes)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        images, boxes = next(iter(val_loader))
        iou = overlap(model(images), boxes).mean().item()
    print(f"epoch {epoch + 1}: train loss {total / len(train_loader):.5f}, val IoU {iou:.3f}")

print("RESULT val_iou", f"{iou:.4f}")
