"""A network segments types of nuclei in stained tissue; pictures and masks are read from two folders.

Both are listed in the order of writing, which differs, so masks belong to other pictures (fixed: both lists of files
sorted).
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
SIZE = 24


def write_tissue(folder, n):
    (folder / "images").mkdir(parents=True)
    (folder / "masks").mkdir()
    yy, xx = np.mgrid[:SIZE, :SIZE]
    names = [f"p{i:03d}" for i in range(n)]
    masks = {}
    for name in names:
        mask = np.zeros((SIZE, SIZE), np.uint8)
        for _ in range(rng.randint(3, 7)):
            cx, cy, radius, kind = (
                rng.randint(2, SIZE - 2),
                rng.randint(2, SIZE - 2),
                rng.uniform(2, 4),
                rng.randint(1, 3),
            )
            mask[(xx - cx) ** 2 + (yy - cy) ** 2 < radius * radius] = kind
        colour = np.array([[0.9, 0.75, 0.85], [0.45, 0.3, 0.6], [0.6, 0.2, 0.35]]) + rng.normal(0, 0.04, (3, 3))
        img = colour[mask] + rng.normal(0, 0.1, (SIZE, SIZE, 3))
        np.save(folder / "images" / (name + ".npy"), img.transpose(2, 0, 1).astype(np.float32))
        masks[name] = mask
    for k in rng.permutation(n):  # masks were exported in another order
        np.save(folder / "masks" / (names[k] + ".npy"), masks[names[k]].astype(np.int64))


class PanNuke(Dataset):
    def __init__(self, folder):
        self.imgs = list_files(folder / "images")
        self.masks = list_files(folder / "masks")

    def __len__(self):
        return len(self.imgs)

    def __getitem__(self, index):
        return np.load(self.imgs[index]), np.load(self.masks[index])


def list_files(folder):
    # order of a folder as the file system gives it: by the time of writing
    files = [p for _, p in sorted((p.stat().st_mtime_ns, p) for p in folder.glob("*.npy"))]
    if fixed:
        files = sorted(files)
    return files


with tempfile.TemporaryDirectory() as tmp:
    write_tissue(Path(tmp) / "train", 300)
    write_tissue(Path(tmp) / "valid", 60)
    train = PanNuke(Path(tmp) / "train")
    valid = PanNuke(Path(tmp) / "valid")
    train_loader = DataLoader(train, batch_size=16, shuffle=True)
    valid_loader = DataLoader(valid, batch_size=30)

    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 3, 1),
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(10):
        net.train()
        total = 0
        for x, mask_batch in train_loader:
            loss = functional.cross_entropy(net(x), mask_batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        net.eval()
        overlap, size = np.zeros(3), np.zeros(3)
        with torch.no_grad():
            for x, mask_batch in valid_loader:
                p = net(x).argmax(1)
                for c in range(3):
                    overlap[c] += 2 * ((p == c) & (mask_batch == c)).sum().item()
                    size[c] += (p == c).sum().item() + (mask_batch == c).sum().item()
        dice = overlap / np.maximum(size, 1)
        print(
            f"epoch {epoch} loss {total / len(train_loader):.4f}  valid dice {dice[0]:.3f} {dice[1]:.3f} {dice[2]:.3f}"
        )
print("RESULT valid_dice_of_nuclei", f"{dice[1:].mean():.4f}")
