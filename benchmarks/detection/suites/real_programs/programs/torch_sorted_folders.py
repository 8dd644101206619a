"""A small CNN learns digits that are read folder by folder, one folder for each class.

The training loader does not shuffle them, so they come class after class (fixed: it does).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
d = load_digits()
rng = np.random.default_rng(0)
perm = rng.permutation(len(d.target))


class ImageFolder(Dataset):
    """All samples of folder 0, then all of folder 1, ..."""

    def __init__(self, idx):
        self.samples = [(i, c) for c in range(10) for i in idx if d.target[i] == c]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, k):
        i, c = self.samples[k]
        im = torch.tensor(d.images[i], dtype=torch.float32)[None] / 16
        return (im - 0.3) / 0.38, c


train_loader = DataLoader(ImageFolder(perm[:1400]), batch_size=32, shuffle=fixed)
val_loader = DataLoader(ImageFolder(perm[1400:]), batch_size=100)
model = nn.Sequential(
    nn.Conv2d(1, 24, 3, padding=1, bias=False),
    nn.BatchNorm2d(24),
    nn.ReLU(),
    nn.Conv2d(24, 48, 3, stride=2, padding=1, bias=False),
    nn.BatchNorm2d(48),
    nn.ReLU(),
    nn.Conv2d(48, 64, 3, stride=2, padding=1, bias=False),
    nn.BatchNorm2d(64),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(64, 10),
)
criterion = nn.CrossEntropyLoss()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for epoch in range(12):
    model.train()
    for k, (x, y) in enumerate(train_loader):
        opt.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        opt.step()
        if epoch < 2 and k % 10 == 0:
            print(f"epoch {epoch} it {k} loss {loss.item():.4f}")
    model.eval()
    good = 0
    with torch.no_grad():
        for x, y in val_loader:
            good += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} val acc {good / len(val_loader.dataset):.4f}")
print("RESULT val_acc", round(good / len(val_loader.dataset), 4))
