"""An image classifier learns from class folders and is validated on the folder that came with the data.

The validation pictures lie in one folder without class folders, so all of them get the same label (fixed: each is moved
to the folder of its class first).
"""

import os
import sys
import tempfile

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
root = tempfile.TemporaryDirectory()
WNIDS = [f"n{1440764 + 37 * k:08d}" for k in range(10)]


def unpack(root):
    """Lay the data out as it is in the archives."""
    digits = load_digits()
    order = rng.permutation(len(digits.images))
    csv = ["ImageId,Class"]
    os.makedirs(os.path.join(root, "val"))
    for w in WNIDS:
        os.makedirs(os.path.join(root, "train", w))
    for k, i in enumerate(order):
        wnid = WNIDS[digits.target[i]]
        picture = (digits.images[i] * 15.9).astype(np.uint8)
        if k < 1300:
            np.save(os.path.join(root, "train", wnid, f"{wnid}_{k}.npy"), picture)
        else:
            name = f"ILSVRC2012_val_{k:08d}"
            np.save(os.path.join(root, "val", name + ".npy"), picture)
            csv.append(f"{name},{wnid}")
    with open(os.path.join(root, "val.csv"), "w") as f:
        f.write("\n".join(csv))


def valprep(root):
    """Move each picture of the validation set to the folder of its class."""
    with open(os.path.join(root, "val.csv")) as f:
        rows = [line.strip().split(",") for line in f][1:]
    for w in WNIDS:
        os.makedirs(os.path.join(root, "val", w), exist_ok=True)
    for name, wnid in rows:
        os.rename(os.path.join(root, "val", name + ".npy"), os.path.join(root, "val", wnid, name + ".npy"))


class ImageDataset(Dataset):
    """All pictures below a folder; the class is the name of the folder a picture lies in."""

    def __init__(self, folder):
        files, names = [], []
        for base, _, found in sorted(os.walk(folder)):
            for f in sorted(found):
                files.append(os.path.join(base, f))
                names.append(os.path.basename(base))
        class_to_idx = {c: k for k, c in enumerate(sorted(set(names)))}
        self.samples = [(f, class_to_idx[c]) for f, c in zip(files, names, strict=True)]
        self.data = [np.load(f) for f, _ in self.samples]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        x = torch.tensor(self.data[i], dtype=torch.float32).unsqueeze(0) / 255
        return (x - 0.305) / 0.376, self.samples[i][1]


unpack(root.name)
if fixed:
    valprep(root.name)
train_loader = DataLoader(
    ImageDataset(os.path.join(root.name, "train")),
    batch_size=64,
    shuffle=True,
    generator=torch.Generator().manual_seed(0),
)
val_loader = DataLoader(ImageDataset(os.path.join(root.name, "val")), batch_size=100)

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(2),
    nn.Flatten(),
    nn.Linear(128, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
criterion = nn.CrossEntropyLoss()

for epoch in range(12):
    model.train()
    right, seen = 0, 0
    for x, y in train_loader:
        out = model(x)
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (out.argmax(1) == y).sum().item()
        seen += len(y)
    model.eval()
    hits, total, val_loss = 0, 0, 0.0
    with torch.no_grad():
        for x, y in val_loader:
            out = model(x)
            val_loss += criterion(out, y).item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            total += len(y)
    print(f"epoch {epoch} train top1 {right / seen:.4f} val loss {val_loss / total:.4f} top1 {hits / total:.4f}")
print("RESULT top1", f"{hits / total:.4f}")
