"""A small encoder-decoder colours drawings of faces; it is trained on pairs from two folders.

The two folders are listed in whatever order the file system gives, so a sketch is paired with the photo of somebody
else and the network paints the average face (fixed: both lists of files are sorted).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
np.random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)

SIZE = 20


def person(rng):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    cx, cy = rng.uniform(7, 12, size=2)
    a, b = rng.uniform(4, 6.5), rng.uniform(5, 7.5)
    r = ((xx - cx) / a) ** 2 + ((yy - cy) / b) ** 2
    face = r < 1
    hair = face & (yy < cy - b * rng.uniform(0.2, 0.6))
    eyes = ((abs(abs(xx - cx) - a * 0.4) < 1) & (abs(yy - cy + 0.5) < 1)) & face
    sketch = np.where(abs(r - 1) < 0.25, 1.0, 0.0)
    sketch[hair] = 0.6
    sketch[eyes] = 1.0
    photo = np.zeros((3, SIZE, SIZE)) + np.array([0.3, 0.4, 0.6])[:, None, None]
    photo[:, face] = np.array([0.85, 0.65, 0.55])[:, None]
    photo[:, hair] = np.array([0.25, 0.15, 0.1])[:, None]
    photo[:, eyes] = np.array([0.1, 0.1, 0.2])[:, None]
    return sketch[None], photo + rng.normal(0, 0.02, size=photo.shape)


def folder(n, seed):
    rng = np.random.RandomState(seed)
    people = [person(rng) for _ in range(n)]
    names = [f"{i:04d}.jpg" for i in range(n)]
    order_s, order_p = rng.permutation(n), rng.permutation(n)
    sketches = {names[i]: people[i][0] for i in order_s}
    photos = {names[i]: people[i][1] for i in order_p}
    return sketches, photos


class Pairs(Dataset):
    def __init__(self, sketches, photos):
        s_filenames = list(sketches)
        p_filenames = list(photos)
        if FIXED:
            s_filenames = sorted(s_filenames)
            p_filenames = sorted(p_filenames)
        self.s = [torch.tensor(sketches[f], dtype=torch.float32) for f in s_filenames]
        self.p = [torch.tensor(photos[f], dtype=torch.float32) for f in p_filenames]

    def __len__(self):
        return len(self.s)

    def __getitem__(self, i):
        return self.s[i] * 2 - 1, self.p[i] * 2 - 1


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = nn.Conv2d(1, 16, 4, 2, 1)
        self.down2 = nn.Conv2d(16, 32, 3, 1, 1)
        self.mid = nn.Conv2d(32, 32, 5, 1, 2)
        self.up = nn.ConvTranspose2d(32, 16, 4, 2, 1)
        self.out = nn.Conv2d(17, 3, 3, 1, 1)

    def forward(self, x):
        h = functional.relu(self.down1(x))
        h = functional.relu(self.down2(h))
        h = functional.relu(self.mid(h))
        h = functional.relu(self.up(h))
        return torch.tanh(self.out(torch.cat([h, x], 1)))


train_loader = DataLoader(Pairs(*folder(600, 1)), batch_size=16, shuffle=True)
test_sketches, test_photos = folder(100, 2)
names = sorted(test_sketches)
test_s = torch.tensor(np.stack([test_sketches[f] for f in names]), dtype=torch.float32) * 2 - 1
test_p = torch.tensor(np.stack([test_photos[f] for f in names]), dtype=torch.float32) * 2 - 1

generator = Generator()
optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3)
for epoch in range(8):
    generator.train()
    running = 0.0
    for sketch, photo in train_loader:
        loss = functional.l1_loss(generator(sketch), photo)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    generator.eval()
    with torch.no_grad():
        l1 = functional.l1_loss(generator(test_s), test_p).item()
    print("epoch", epoch + 1, "loss", round(running / len(train_loader), 4), "test L1", round(l1, 4))
print("RESULT test_l1", f"{l1:.4f}")
