"""A convolutional network tells images with a hidden message from their covers, read from two folders.

The file names are cut out of the paths at backslashes. On Linux, the whole path of the cover remains, and joined to the
other folder it still is that of the cover, so that both classes have the same images (fixed: cut at os.sep).
"""

import os
import shutil
import sys
import tempfile
from glob import glob

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(1)
rng = np.random.default_rng(1)

SIZE = 32
KV = (
    torch.tensor(
        [[-1, 2, -2, 2, -1], [2, -6, 8, -6, 2], [-2, 8, -12, 8, -2], [2, -6, 8, -6, 2], [-1, 2, -2, 2, -1]],
        dtype=torch.float32,
    ).view(1, 1, 5, 5)
    / 12
)


def make_images(root, split, count):
    for kind in ("cover", "stego"):
        os.makedirs(os.path.join(root, split, kind))
    yy, xx = np.mgrid[0:SIZE, 0:SIZE] / SIZE
    for k in range(count):
        img = np.full((SIZE, SIZE), rng.uniform(80, 170))
        for _ in range(4):
            f, g = rng.uniform(-3, 3, 2)
            img += rng.uniform(5, 18) * np.sin(2 * np.pi * (f * xx + g * yy) + rng.uniform(0, 6.3))
        img += rng.normal(0, rng.uniform(0.3, 0.8), img.shape)
        cover = np.clip(np.round(img), 2, 253)
        change = rng.choice([-1, 1], img.shape) * (rng.random(img.shape) < rng.uniform(0.3, 0.5))
        stego = cover + change
        for kind, a in (("cover", cover), ("stego", stego)):
            Image.fromarray(a.astype(np.uint8)).save(os.path.join(root, split, kind, f"{k + 1}.pgm"))


class StegoDataset(Dataset):
    def __init__(self, cover_dir, stego_dir):
        self.cover_dir, self.stego_dir = cover_dir, stego_dir
        sep = os.sep if FIXED else "\\"
        self.cover_list = sorted(x.split(sep)[-1] for x in glob(cover_dir + "/*"))

    def __len__(self):
        return len(self.cover_list)

    def read(self, path):
        x = torch.from_numpy(np.asarray(Image.open(path), dtype=np.float32))[None, None]
        return functional.conv2d(x, KV).clamp(-3, 3)[0] / 3  # truncated high-pass residual

    def __getitem__(self, i):
        name = self.cover_list[i]
        cover = self.read(os.path.join(self.cover_dir, name))
        stego = self.read(os.path.join(self.stego_dir, name))
        return torch.stack([cover, stego]), torch.tensor([0, 1])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1, bias=False),
            nn.BatchNorm2d(12),
            nn.ReLU(),
            nn.AvgPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1, bias=False),
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.fc = nn.Linear(24, 2)

    def forward(self, x):
        return self.fc(self.features(x))


def flat(batch):
    x, y = batch
    return x.flatten(0, 1), y.flatten()


root = tempfile.mkdtemp()
make_images(root, "train", 600)
make_images(root, "test", 200)
train_set = StegoDataset(os.path.join(root, "train", "cover"), os.path.join(root, "train", "stego"))
test_set = StegoDataset(os.path.join(root, "test", "cover"), os.path.join(root, "test", "stego"))
train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
test_loader = DataLoader(test_set, batch_size=50)

model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
acc = 0.0
for epoch in range(8):
    model.train()
    total = 0.0
    for batch in train_loader:
        x, y = flat(batch)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    hits = count = 0
    with torch.no_grad():
        for batch in test_loader:
            x, y = flat(batch)
            hits += (model(x).argmax(1) == y).sum().item()
            count += len(y)
    acc = hits / count
    print(f"epoch {epoch + 1}  loss {total / len(train_loader):.4f}  test accuracy {acc:.4f}")
shutil.rmtree(root)
print("RESULT test_accuracy", f"{acc:.4f}")
