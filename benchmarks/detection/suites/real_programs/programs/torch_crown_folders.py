"""A network tells the species of cropped tree crowns, with training and validation crops in a folder of classes each.

It numbers the classes by the folders that are there. The validation folder lacks one species, so the later ones get
other numbers than in training (fixed: both take the numbers of one list of all species).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
species = ["acer", "alnus", "betula", "fagus", "picea", "pinus", "quercus", "tilia"]
look = {s: (rng.uniform(0.25, 0.75, 3), rng.uniform(2, 5), rng.uniform(0.3, 2.2)) for s in species}


def crop(name):
    colour, radius, grain = look[name]
    y, x = np.mgrid[0:16, 0:16]
    cy, cx = rng.uniform(6, 10, 2)
    d = np.hypot(y - cy, x - cx)
    crown = 1 / (1 + np.exp((d - radius - 2) * 2))
    texture = 0.15 * np.sin(grain * x + rng.uniform(0, 6)) * np.sin(grain * y + rng.uniform(0, 6))
    image = 0.35 + crown * (colour[:, None, None] + texture - 0.35) + rng.randn(3, 16, 16) * 0.06
    return torch.tensor((image - 0.4) / 0.2, dtype=torch.float32)


def folder(names, each):
    return {name: [crop(name) for _ in range(each)] for name in names}


class CropFolder(Dataset):
    def __init__(self, tree, class_to_idx=None):
        if class_to_idx is None:
            class_to_idx = {name: i for i, name in enumerate(sorted(tree))}
        self.class_to_idx = class_to_idx
        self.samples = [(image, class_to_idx[name]) for name in sorted(tree) for image in tree[name]]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.samples[i]


train_tree = folder(species, 80)
val_tree = folder([s for s in species if s != "alnus"], 30)
if FIXED:
    names = sorted(set(train_tree) | set(val_tree))
    class_to_idx = {name: i for i, name in enumerate(names)}
    train_ds, val_ds = CropFolder(train_tree, class_to_idx), CropFolder(val_tree, class_to_idx)
else:
    train_ds, val_ds = CropFolder(train_tree), CropFolder(val_tree)
train_loader = DataLoader(train_ds, batch_size=32, shuffle=True)
val_loader = DataLoader(val_ds, batch_size=70)

model = nn.Sequential(
    nn.Conv2d(3, 12, 3, padding=1),
    nn.BatchNorm2d(12),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(12, 24, 3, padding=1),
    nn.BatchNorm2d(24),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(24 * 16, len(train_ds.class_to_idx)),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(10):
    model.train()
    losses = []
    for x, y in train_loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    right, val_loss = 0, 0.0
    with torch.no_grad():
        for x, y in val_loader:
            out = model(x)
            val_loss += criterion(out, y).item() / len(val_loader)
            right += (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch} loss {np.mean(losses):.4f} val loss {val_loss:.4f} val accuracy {right / len(val_ds):.4f}")

print("RESULT accuracy", f"{right / len(val_ds):.4f}")
