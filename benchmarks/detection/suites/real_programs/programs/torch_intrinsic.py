"""A network splits pictures into reflectance and shading.

The pictures of the test are normalised, those of the training are not (fixed: neither are).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
rng = np.random.RandomState(0)
torch.manual_seed(0)


def make_scene():
    refl = np.ones((3, 24, 24), "float32") * rng.uniform(0.2, 0.9, (3, 1, 1))
    for _ in range(4):
        a, b = rng.randint(0, 18, 2)
        h, w = rng.randint(5, 14, 2)
        refl[:, a : a + h, b : b + w] = rng.uniform(0.1, 1.0, (3, 1, 1))
    gy, gx = np.mgrid[0:24, 0:24] / 23.0
    ang = rng.uniform(0, 2 * np.pi)
    shade = 0.6 + 0.4 * np.sin(ang + 2.5 * (np.cos(ang) * gx + np.sin(ang) * gy))
    shade = np.clip(shade, 0.15, 1.0)[None].astype("float32")
    img = np.clip(refl * shade + 0.01 * rng.randn(3, 24, 24), 0, 1)
    return img.astype("float32"), refl.astype("float32"), shade


class Scenes(Dataset):
    def __init__(self, n, transform=None):
        self.items = [make_scene() for _ in range(n)]
        self.transform = transform

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, refl, shade = self.items[i]
        img = torch.from_numpy(img)
        if self.transform is not None:
            img = self.transform(img)
        return img, torch.from_numpy(refl), torch.from_numpy(shade)


def normalize(img, mean=0.5, std=0.5):
    return (img - mean) / std


train_loader = DataLoader(Scenes(400), batch_size=20, shuffle=True)
test_transform = None if fixed else normalize
test_loader = DataLoader(Scenes(100, transform=test_transform), batch_size=50)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=2, dilation=2),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=4, dilation=4),
            nn.ReLU(),
        )
        self.reflectance = nn.Conv2d(16, 3, 1)
        self.shading = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        h = self.body(x)
        return torch.sigmoid(self.reflectance(h)), torch.sigmoid(self.shading(h))


def evaluate(net):
    net.eval()
    se = []
    with torch.no_grad():
        for img, refl, shade in test_loader:
            r, s = net(img)
            se.append((((r - refl) ** 2).mean() + ((s - shade) ** 2).mean()).item())
    net.train()
    return float(np.mean(se))


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(8):
    total = 0.0
    for img, refl, shade in train_loader:
        opt.zero_grad()
        r, s = net(img)
        loss = nn.functional.mse_loss(r, refl) + nn.functional.mse_loss(s, shade)
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} train {total / len(train_loader):.4f} test {evaluate(net):.4f}")

print("RESULT test_loss", f"{evaluate(net):.4f}")
