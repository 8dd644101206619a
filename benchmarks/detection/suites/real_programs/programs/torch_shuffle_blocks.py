"""A network of small residual blocks tells ten classes of colour pictures apart.

Its convolutions and batch normalisations follow each other without a nonlinearity (fixed: ReLU).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(7)
rng = np.random.RandomState(7)
SHAPES = [rng.rand(3, 7, 7) > 0.5 for _ in range(10)]


def pictures(n):
    x = 0.15 * rng.randn(n, 3, 20, 20) + 0.5
    y = rng.randint(0, 10, n)
    for i in range(n):
        r, c = rng.randint(0, 14, 2)
        sign = 1 if rng.rand() < 0.5 else -1
        x[i, :, r : r + 7, c : c + 7] += sign * (SHAPES[y[i]] - 0.5)
    return torch.tensor((x - 0.5) / 0.25, dtype=torch.float32), torch.tensor(y)


def act():
    return [nn.ReLU()] if fixed else []


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        mid = cout // 2
        self.main = nn.Sequential(
            nn.Conv2d(cin, mid, 1, bias=False),
            nn.BatchNorm2d(mid),
            *act(),
            nn.Conv2d(mid, mid, 3, stride, 1, bias=False),
            nn.BatchNorm2d(mid),
            *act(),
            nn.Conv2d(mid, cout, 1, bias=False),
            nn.BatchNorm2d(cout),
        )
        self.short = (
            nn.Identity()
            if cin == cout and stride == 1
            else nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))
        )
        self.out = nn.Sequential(*act())

    def forward(self, x):
        return self.out(self.main(x) + self.short(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 24, 5, 1, 2, bias=False), nn.BatchNorm2d(24), *act())
        self.blocks = nn.Sequential(Block(24, 32, 2), Block(32, 32, 1), Block(32, 64, 2), Block(64, 64, 1))
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


Xtr, ytr = pictures(2000)
Xva, yva = pictures(500)
loader = DataLoader(TensorDataset(Xtr, ytr), batch_size=64, shuffle=True)
model = Net()
criterion = nn.CrossEntropyLoss()
epochs = 9
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=4e-5)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)

for epoch in range(epochs):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        acc = (model(Xva).argmax(1) == yva).float().mean().item()
    print(f"epoch {epoch} loss {total / len(loader):.4f} val acc {acc:.3f}")
print("RESULT val_accuracy", f"{acc:.4f}")
