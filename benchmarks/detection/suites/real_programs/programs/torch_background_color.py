"""A small convolutional network estimates the background colour of pictures of documents.

With Adam's learning rate of 0.003, the network ends up with the same colour for all pictures (fixed: a learning rate of
0.0003).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
LEARNING_RATE = 0.0003 if FIXED else 0.003


def make_documents(n, size=32):
    color = np.clip(rng.uniform(0.6, 0.95, (n, 1)) + rng.normal(0, 0.05, (n, 3)), 0.45, 1)
    img = np.repeat(np.repeat(color[:, :, None, None], size, 2), size, 3)
    for i in range(n):
        for row in range(3, size - 2, 4):
            ink = rng.random(size) < 0.5
            img[i, :, row, ink] *= rng.uniform(0.1, 0.4)
        a, b = rng.uniform(-1, 1, 2)
        yy, xx = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
        shadow = (a * xx + b * yy) > rng.uniform(0, 0.4)
        img[i] *= np.where(shadow, rng.uniform(0.4, 0.75), 1.0)
    img = np.clip(img + rng.normal(0, 0.02, img.shape), 0, 1)
    return (torch.tensor((img - 0.5) / 0.5, dtype=torch.float32), torch.tensor(color, dtype=torch.float32))


class BENet(nn.Module):
    def __init__(self, ch=64):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, ch, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(ch, ch, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(ch, ch, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(ch, ch, 3, padding=1),
            nn.ReLU(),
        )
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(ch * 16, 512), nn.ReLU(), nn.Linear(512, 3), nn.Sigmoid())

    def forward(self, x):
        return self.fc(self.features(x))


x_train, c_train = make_documents(800)
x_val, c_val = make_documents(200)
loader = DataLoader(TensorDataset(x_train, c_train), batch_size=16, shuffle=True)
model = BENet()
optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, betas=(0.5, 0.999))
criterion = nn.MSELoss()
for epoch in range(12):
    model.train()
    total = 0.0
    for x, c in loader:
        loss = criterion(model(x), c)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        val = criterion(model(x_val), c_val).item()
    print(f"epoch {epoch + 1:2d} loss {total / len(loader):.5f} val {val:.5f}")

with torch.no_grad():
    pred = model(x_val)
print("predicted", pred[0].numpy().round(3), "true", c_val[0].numpy().round(3))
print("RESULT val_mae", f"{(pred - c_val).abs().mean().item():.4f}")
