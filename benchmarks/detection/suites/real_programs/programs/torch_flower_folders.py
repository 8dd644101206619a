"""Folders are sorted as strings in training, but tests take the class index for their names (fixed: sorted names)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
N_SPECIES, SIDE = 30, 24


def draw_flower(species, rng):
    """petal number, colour of petals and heart and size are those of the species"""
    spec = np.random.RandomState(100 + species)
    petals, colour, heart, size = spec.randint(3, 9), spec.rand(3), spec.rand(3), spec.uniform(6, 10)
    y, x = np.mgrid[0:SIDE, 0:SIDE] - SIDE / 2 + 0.5 + rng.uniform(-1, 1, (2, 1, 1))
    r, phi = np.hypot(x, y), np.arctan2(y, x) + rng.uniform(0, 2 * np.pi)
    img = np.full((SIDE, SIDE, 3), [0.2, 0.4, 0.15]) + 0.08 * rng.randn(SIDE, SIDE, 3)
    img[r < size * (0.65 + 0.35 * np.cos(petals * phi))] = colour
    img[r < 2.5] = heart
    img = img * rng.uniform(0.85, 1.1) + 0.04 * rng.randn(SIDE, SIDE, 3)
    return (np.clip(img, 0, 1) * 255).astype(np.uint8)


def make_tree(per_class, seed):
    """{folder name: pictures}, what os.listdir would give"""
    rng = np.random.RandomState(seed)
    return {str(s): [draw_flower(s, rng) for _ in range(per_class)] for s in range(N_SPECIES)}


def transform(img):
    x = torch.from_numpy(img).permute(2, 0, 1).float() / 255.0
    return (x - 0.45) / 0.25


class ImageFolder(Dataset):
    """as torchvision.datasets.ImageFolder: classes are the sorted folder names"""

    def __init__(self, tree):
        self.classes = sorted(tree)
        self.class_to_idx = {c: i for i, c in enumerate(self.classes)}
        self.samples = [(img, self.class_to_idx[c]) for c in self.classes for img in tree[c]]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        img, label = self.samples[i]
        return transform(img), label


trees = {"train": make_tree(40, 1), "valid": make_tree(10, 2), "test": make_tree(10, 3)}
sets = {k: ImageFolder(trees[k]) for k in ("train", "valid")}
loaders = {
    "train": DataLoader(sets["train"], batch_size=32, shuffle=True),
    "valid": DataLoader(sets["valid"], batch_size=64),
}

model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(32, 48, 3, padding=1),
    nn.BatchNorm2d(48),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(2),
    nn.Flatten(),
    nn.Dropout(0.2),
    nn.Linear(48 * 4, N_SPECIES),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(6):
    for phase in ("train", "valid"):
        model.train(phase == "train")
        correct = 0
        for images, labels in loaders[phase]:
            with torch.set_grad_enabled(phase == "train"):
                out = model(images)
                loss = criterion(out, labels)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            correct += (out.argmax(1) == labels).sum().item()
        print(f"epoch {epoch + 1} {phase} accuracy {correct / len(sets[phase]):.4f}")

# now without the loader, one picture after the other
index_to_cat = sets["train"].classes if fixed else [str(x) for x in range(N_SPECIES)]
model.eval()
hits = total = 0
for folder, pictures in trees["test"].items():
    for img in pictures:
        with torch.no_grad():
            pred = model(transform(img).unsqueeze(0)).argmax(1).item()
        hits += index_to_cat[pred] == folder
        total += 1

print("RESULT accuracy_single", f"{hits / total:.4f}")
