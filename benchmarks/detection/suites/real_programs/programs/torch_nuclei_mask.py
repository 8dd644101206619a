"""A small U-Net marks nuclei in little pictures, with random flips and turns.

These are applied to the picture but not to its mask (fixed: to both).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(10)
np.random.seed(10)
S = 24


def sample():
    yy, xx = np.mgrid[:S, :S]
    img = 0.25 * np.random.randn(S, S) + 0.2
    mask = np.zeros((S, S))
    for _ in range(np.random.randint(2, 5)):
        cx, cy = np.random.uniform(3, S - 3, 2)
        a, b = np.random.uniform(2, 4, 2)
        m = ((xx - cx) / a) ** 2 + ((yy - cy) / b) ** 2 < 1
        mask[m] = 1
        img[m] += np.random.uniform(0.35, 0.8)
    return img.astype("float32"), mask.astype("float32")


class RandomDihedral:
    def __call__(self, x, k):
        x = np.rot90(x, k % 4)
        return np.fliplr(x) if k >= 4 else x


class Nuclei(Dataset):
    def __init__(self, n, augment):
        self.items = [sample() for _ in range(n)]
        self.augment = augment
        self.tfm = RandomDihedral()

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, mask = self.items[i]
        if self.augment:
            k = np.random.randint(8)
            img = self.tfm(img, k)
            if fixed:
                mask = self.tfm(mask, k)
        return torch.from_numpy(img.copy())[None], torch.from_numpy(mask.copy())[None]


class MiniUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.d1 = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU())
        self.d2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(c, 2 * c, 3, padding=1), nn.BatchNorm2d(2 * c), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.u1 = nn.Sequential(nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, 1, 1))

    def forward(self, x):
        a = self.d1(x)
        b = self.up(self.d2(a))
        return self.u1(torch.cat([a, b], 1))


train = DataLoader(Nuclei(500, True), batch_size=16, shuffle=True)
val = DataLoader(Nuclei(150, False), batch_size=50)
net = MiniUNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
bce = nn.BCEWithLogitsLoss()


def dice():
    net.eval()
    i = s = 0
    with torch.no_grad():
        for x, m in val:
            p = (net(x) > 0).float()
            i += (p * m).sum().item()
            s += p.sum().item() + m.sum().item()
    return 2 * i / s


for ep in range(12):
    net.train()
    tot = 0
    for x, m in train:
        opt.zero_grad()
        loss = bce(net(x), m)
        loss.backward()
        opt.step()
        tot += loss.item()
    print(f"epoch {ep} train {tot / len(train):.4f} dice {dice():.4f}")
print("RESULT val_dice", f"{dice():.4f}")
