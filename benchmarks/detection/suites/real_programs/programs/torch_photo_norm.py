"""A classifier of small colour photos has transforms like those of torchvision.

``Normalize`` gets mean and deviation of pixels in 0 to 255 for pixels in 0 to 1, so inputs are almost constant
(fixed: those of pixels in 0 to 1).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(12)
rng = np.random.RandomState(12)
S = 16


def photos(n):
    x = rng.randint(0, 110, (n, S, S, 3)).astype("float32")
    y = rng.randint(0, 5, n)
    yy, xx = np.mgrid[:S, :S]
    for i in range(n):
        ph = rng.uniform(0, 6)
        f = rng.uniform(0.8, 1.2)
        pat = [
            np.sin(f * xx + ph),
            np.sin(f * yy + ph),
            np.sin(f * (xx + yy) * 0.7 + ph),
            np.sin(f * xx + ph) * np.sin(f * yy + ph),
            np.sin(f * np.hypot(xx - 8, yy - 8) + ph),
        ][y[i]]
        x[i] += 70 + 40 * pat[..., None] * rng.uniform(0.5, 1, 3) + rng.uniform(-20, 20)
    return np.clip(x, 0, 255).astype("uint8"), y


def to_tensor(img):  # uint8 HWC -> float CHW in 0..1
    return torch.from_numpy(img).permute(2, 0, 1).float() / 255


class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = torch.tensor(mean).view(3, 1, 1), torch.tensor(std).view(3, 1, 1)

    def __call__(self, x):
        return (x - self.mean) / self.std


if fixed:
    norm = Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
else:
    norm = Normalize([123.675, 116.28, 103.53], [58.395, 57.12, 57.375])


class Photos(Dataset):
    def __init__(self, n, train):
        self.x, self.y = photos(n)
        self.train = train

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        t = norm(to_tensor(self.x[i]))
        if self.train and torch.rand(1).item() < 0.5:
            t = t.flip(2)
        return t, int(self.y[i])


tr = DataLoader(Photos(1200, True), batch_size=32, shuffle=True)
va = DataLoader(Photos(400, False), batch_size=100)
model = nn.Sequential(
    nn.Conv2d(3, 12, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(12, 24, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(24, 24, 3, padding=1),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(2),
    nn.Flatten(),
    nn.Linear(96, 5),
)
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
ce = nn.CrossEntropyLoss()
for epoch in range(14):
    model.train()
    tot = ok = 0
    for x, y in tr:
        opt.zero_grad()
        out = model(x)
        loss = ce(out, y)
        loss.backward()
        opt.step()
        tot += loss.item() * len(y)
        ok += (out.argmax(1) == y).sum().item()
    model.eval()
    with torch.no_grad():
        acc = np.mean([(model(x).argmax(1) == y).float().mean().item() for x, y in va])
    print(f"epoch {epoch} loss {tot / 1200:.4f} acc {ok / 1200:.3f} val acc {acc:.3f}")
print("RESULT val_accuracy", f"{acc:.4f}")
