"""Maps of the key points of stick figures: inference leaves out the mean and deviation that training normalises by.

It only scales the pictures to 0..1 (fixed: the same normalisation in ``infer``).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)
S = 32


def line(img, a, b, colour):
    for t in np.linspace(0, 1, 40):
        r, c = np.round(np.array(a) * (1 - t) + np.array(b) * t).astype(int)
        img[r, c] = colour


def figure():
    base = rng.uniform(60, 200, 3)
    img = np.clip(base + rng.normal(0, 12, (S, S, 3)), 0, 255)
    colour = np.clip(base + rng.choice([-1, 1]) * rng.uniform(45, 60, 3), 0, 255)
    cr, cc = rng.randint(10, 17), rng.randint(11, 21)
    neck, hip = (cr - 3, cc), (cr + 5, cc + rng.randint(-2, 3))
    head = (cr - 8 + rng.randint(0, 3), cc + rng.randint(-2, 3))
    left = (neck[0] + rng.randint(-5, 7), cc - rng.randint(5, 9))
    right = (neck[0] + rng.randint(-5, 7), cc + rng.randint(5, 9))
    lf = (hip[0] + rng.randint(5, 9), hip[1] - rng.randint(2, 7))
    rf = (hip[0] + rng.randint(5, 9), hip[1] + rng.randint(2, 7))
    for a, b in ((head, neck), (neck, hip), (neck, left), (neck, right), (hip, lf), (hip, rf)):
        line(img, a, b, colour)
    pts = np.clip(np.array([head, left, right, lf, rf]), 0, S - 1)
    return img.astype(np.uint8), pts


class Poses(Dataset):
    def __init__(self, n):
        self.items = [figure() for _ in range(n)]
        g = np.arange(S // 2)
        self.maps = np.stack(
            [
                np.stack([np.exp(-((g[:, None] - r / 2) ** 2 + (g[None] - c / 2) ** 2) / 2) for r, c in pts])
                for _, pts in self.items
            ]
        ).astype(np.float32)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        image = self.items[i][0].astype(np.float32) / 255.0
        image = (image - MEAN) / STD
        return torch.from_numpy(image.transpose(2, 0, 1).copy()), torch.from_numpy(self.maps[i])


def conv(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1), nn.BatchNorm2d(o), nn.ReLU())


class PoseNet(nn.Module):
    """heat maps at half the resolution"""

    def __init__(self):
        super().__init__()
        self.a = conv(3, 12)
        self.b = nn.Sequential(conv(12, 24, 2), conv(24, 24))
        self.c = nn.Sequential(conv(24, 48, 2), conv(48, 48), conv(48, 48))
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), conv(48, 24))
        self.out = nn.Sequential(conv(48, 24), nn.Conv2d(24, 5, 1))

    def forward(self, x):
        b = self.b(self.a(x))
        return self.out(torch.cat([self.up(self.c(b)), b], 1))


def infer(model, img):
    """img: H x W x 3, uint8 -> key points in pixels"""
    x = img.astype(np.float32) / 255.0
    if fixed:
        x = (x - MEAN) / STD
    with torch.no_grad():
        maps = model(torch.from_numpy(x.transpose(2, 0, 1)[None].copy()))[0]
    flat = maps.flatten(1).argmax(1).numpy()
    return 2 * np.stack([flat // (S // 2), flat % (S // 2)], 1)


train, val = Poses(1000), Poses(200)
loader = DataLoader(train, batch_size=16, shuffle=True)
val_loader = DataLoader(val, batch_size=100)
model = PoseNet()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
criterion = nn.MSELoss()

for epoch in range(14):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        v = np.mean([criterion(model(x), y).item() for x, y in val_loader])
    print(f"epoch {epoch + 1}: loss {total / len(loader):.5f} val {v:.5f}")

model.eval()
hit = [np.linalg.norm(infer(model, img) - pts, axis=1) <= 3 for img, pts in (figure() for _ in range(200))]
print("RESULT pck", f"{np.mean(hit):.4f}")
