"""A small U-Net marks the kidneys in slices of CT scans.

The data set standardises the slices that the network is trained on, but the predictor that evaluates it passes the
slices on in Hounsfield units, as they come from the file (fixed: the predictor standardises the slices in the same
way).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)


def make_case():
    """Air, a body with fat and soft tissue, a spine and one or two kidneys, in Hounsfield units."""
    yy, xx = np.mgrid[0:32, 0:32].astype(float)
    ct = np.full((32, 32), -1000.0)
    cy, cx = 16 + rng.normal(0, 1, 2)
    ry, rx = rng.uniform(10.5, 12.5), rng.uniform(13, 15)
    body = ((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2
    ct[body < 1] = -90
    ct[body < 0.82] = 45
    ct[(yy - cy - 5) ** 2 + (xx - cx) ** 2 < 5] = 400
    mask = np.zeros((32, 32))
    for side in (-1, 1):
        if rng.random() < 0.85:
            ky, kx = cy + rng.uniform(0, 4), cx + side * rng.uniform(6, 8)
            k = ((yy - ky) / rng.uniform(2.4, 3.6)) ** 2 + ((xx - kx) / rng.uniform(1.8, 2.8)) ** 2 < 1
            ct[k] = rng.uniform(140, 200)
            mask[k] = 1
    for _ in range(2):
        by, bx = cy - rng.uniform(2, 6), cx + rng.uniform(-6, 6)
        ct[(yy - by) ** 2 + (xx - bx) ** 2 < rng.uniform(2, 6)] = rng.uniform(60, 110)
    return (ct + rng.normal(0, 25, ct.shape)).astype("float32"), mask.astype("float32")


def standardize(ct):
    return (ct - ct.mean()) / ct.std()


class SliceDataset(Dataset):
    def __init__(self, cases):
        self.cases = cases

    def __len__(self):
        return len(self.cases)

    def __getitem__(self, i):
        ct, mask = self.cases[i]
        if rng.random() < 0.5:
            ct, mask = ct[:, ::-1].copy(), mask[:, ::-1].copy()
        return torch.from_numpy(standardize(ct))[None], torch.from_numpy(mask)[None]


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.bottom = block(1, 12), block(12, 24), block(24, 32)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.Upsample(scale_factor=2)
        self.up2, self.up1 = block(32 + 24, 24), block(24 + 12, 12)
        self.out = nn.Conv2d(12, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        c = self.bottom(self.pool(b))
        b = self.up2(torch.cat([self.up(c), b], 1))
        a = self.up1(torch.cat([self.up(b), a], 1))
        return self.out(a)


class Predictor:
    def __init__(self, model, cases):
        self.model, self.cases = model, cases

    def run(self):
        """Mean Dice score of the cases."""
        self.model.eval()
        scores = []
        with torch.no_grad():
            for ct, mask in self.cases:
                image = standardize(ct) if FIXED else ct
                pred = torch.sigmoid(self.model(torch.from_numpy(image)[None, None]))[0, 0].numpy() > 0.5
                scores.append((2 * (pred * mask).sum() + 1e-3) / (pred.sum() + mask.sum() + 1e-3))
        return float(np.mean(scores))


train_cases = [make_case() for _ in range(200)]
val_cases = [make_case() for _ in range(60)]
model = UNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loader = DataLoader(SliceDataset(train_cases), batch_size=16, shuffle=True)
predictor = Predictor(model, val_cases)

for epoch in range(9):
    model.train()
    total = 0.0
    for ct, mask in loader:
        optimizer.zero_grad()
        loss = criterion(model(ct), mask)
        loss.backward()
        optimizer.step()
        total += loss.item()
    dice = predictor.run()
    print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}  val dice {dice:.4f}")

print("RESULT val_dice", f"{dice:.4f}")
