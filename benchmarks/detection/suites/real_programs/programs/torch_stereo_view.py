"""Pictures in 0 to 1 are divided by 255 once more, inputs and targets (fixed: taken as they are)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)

H, W, N = 12, 20, 500


def render(n):
    left = np.zeros((n, 3, H, W), dtype=np.float32)
    right = np.zeros((n, 3, H, W), dtype=np.float32)
    yy, xx = np.mgrid[0:H, 0:W]
    for i in range(n):
        base = rng.uniform(0.2, 0.5, size=3)
        left[i] += base[:, None, None]
        right[i] += base[:, None, None]
        for _ in range(3):
            cx, cy, r = rng.uniform(3, W - 3), rng.uniform(2, H - 2), rng.uniform(1.5, 3.5)
            colour = rng.uniform(-0.3, 0.5, size=3)[:, None, None]
            left[i] += colour * np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / r**2)
            right[i] += colour * np.exp(-((xx - cx + 2) ** 2 + (yy - cy) ** 2) / r**2)
    return left.clip(0, 1), right.clip(0, 1)


class StereoPairs(Dataset):
    def __init__(self, n):
        self.left, self.right = render(n)

    def __len__(self):
        return len(self.left)

    def __getitem__(self, i):
        left, right = torch.from_numpy(self.left[i]), torch.from_numpy(self.right[i])
        return (left, right) if fixed else (left / 255, right / 255)


train_loader = DataLoader(StereoPairs(N), batch_size=16, shuffle=True)
val_loader = DataLoader(StereoPairs(100), batch_size=50)

model = nn.Sequential(
    nn.Conv2d(3, 16, 5, padding=2),
    nn.ReLU(),
    nn.Conv2d(16, 16, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, 3, 3, padding=1),
)
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for epoch in range(40):
    model.train()
    total = 0.0
    for left, right in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(left), right)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(left)
    print(f"epoch {epoch + 1}: train loss {total / N:.8f}")

model.eval()
outputs, targets = [], []
with torch.no_grad():
    for left, right in val_loader:
        outputs.append(model(left))
        targets.append(right)
outputs, targets = torch.cat(outputs), torch.cat(targets)
spread = ((targets - targets.mean()) ** 2).mean()
print("val MSE:", ((outputs - targets) ** 2).mean().item())
explained = 1 - (((outputs - targets) ** 2).mean() / spread).item()
print("explained part of the variance:", explained)

print("RESULT val_explained_variance", explained)
