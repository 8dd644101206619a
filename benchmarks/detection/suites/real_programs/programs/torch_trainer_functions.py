"""The training function of a spot finder never resets gradients (fixed: ``optimizer.zero_grad()`` at each batch)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
np.random.seed(0)

# small images with one bright spot, whose position is to be found (in the range 0 to 1)
n, size = 1200, 12
pos = np.random.uniform(0.15, 0.85, size=(n, 2)).astype("float32")
grid = (np.arange(size) + 0.5) / size
gx = np.exp(-((grid[None, :] - pos[:, :1]) ** 2) / 0.01)
gy = np.exp(-((grid[None, :] - pos[:, 1:]) ** 2) / 0.01)
images = (gy[:, :, None] * gx[:, None, :] + 0.05 * np.random.rand(n, size, size)).astype("float32")
data = TensorDataset(torch.tensor(images).unsqueeze(1), torch.tensor(pos))
train_loader = DataLoader(Subset(data, range(1000)), batch_size=32, shuffle=True)
val_loader = DataLoader(Subset(data, range(1000, n)), batch_size=32)


class SpotNet(nn.Module):
    """Two convolutions and two linear layers, to a position."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16 * 9, 32),
            nn.ReLU(),
            nn.Linear(32, 2),
        )

    def forward(self, x):
        return self.net(x)


def train(model, train_loader, optimizer, criterion):
    model.train()
    losses = []
    for images, coords in train_loader:
        if fixed:
            optimizer.zero_grad()
        out = model(images)
        loss = criterion(out, coords)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.mean(losses)


def val(model, val_loader, criterion):
    model.eval()
    losses, distances = [], []
    with torch.no_grad():
        for images, coords in val_loader:
            out = model(images)
            losses.append(criterion(out, coords).item())
            distances.append((out - coords).norm(dim=1))
    return np.mean(losses), torch.cat(distances).mean().item()


model = SpotNet()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(30):
    train_loss = train(model, train_loader, optimizer, criterion)
    val_loss, distance = val(model, val_loader, criterion)
    losses = f"train_loss = {train_loss:.5f}, val_loss = {val_loss:.5f}"
    print(f"epoch {epoch}, {losses}, mean distance = {distance:.4f}")

print("RESULT val_distance", distance)
