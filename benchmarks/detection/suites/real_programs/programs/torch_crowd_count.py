"""A convolutional network estimates a density map of the heads in a picture, whose sum is the number of people.

The validation code has a transform of its own, which takes pixels of 0 to 255 and only subtracts means, while training
scales to 0..1 and standardises (fixed: the transform of the training).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(4)
rng = np.random.RandomState(4)

MEAN = np.array([0.485, 0.456, 0.406])
STD = np.array([0.229, 0.224, 0.225])
SIZE = 32
yy, xx = np.mgrid[0:SIZE, 0:SIZE]


def scene():
    image = rng.uniform(60, 180, 3) + rng.randn(SIZE, SIZE, 3) * 8
    density = np.zeros((SIZE, SIZE))
    for _ in range(rng.randint(1, 16)):
        cy, cx = rng.uniform(3, SIZE - 3, 2)
        spot = np.exp(-((yy - cy) ** 2 + (xx - cx) ** 2) / (2 * 1.3**2))
        image -= spot[:, :, None] * np.array([55, 60, 65])
        density += spot / spot.sum()
    return np.clip(image, 0, 255).astype(np.uint8), density


def transform(image):
    x = (image / 255.0 - MEAN) / STD
    return x.transpose(2, 0, 1)


def val_transform(image):
    x = image.astype(float)
    x = x - np.array([92.8207477031, 95.2757037428, 104.877445883])
    return x.transpose(2, 0, 1)


def tensors(n, how):
    pairs = [scene() for _ in range(n)]
    x = np.array([how(i) for i, d in pairs])
    d = np.array([d for i, d in pairs])[:, None]
    return torch.tensor(x, dtype=torch.float32), torch.tensor(d, dtype=torch.float32)


x_train, d_train = tensors(400, transform)
x_val, d_val = tensors(150, transform if FIXED else val_transform)

model = nn.Sequential(
    nn.Conv2d(3, 16, 5, padding=2),
    nn.ReLU(),
    nn.Conv2d(16, 16, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, 16, 3, padding=2, dilation=2),
    nn.ReLU(),
    nn.Conv2d(16, 1, 1),
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
criterion = nn.MSELoss(reduction="sum")


def validate():
    model.eval()
    with torch.no_grad():
        mae = (model(x_val).sum((1, 2, 3)) - d_val.sum((1, 2, 3))).abs().mean().item()
    model.train()
    return mae


for epoch in range(12):
    order = torch.randperm(len(x_train))
    total = 0.0
    for i in range(0, len(x_train), 10):
        idx = order[i : i + 10]
        loss = criterion(model(x_train[idx]), d_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1} loss {total / 40:.4f} val mae {validate():.3f}")

print("RESULT val_mae", f"{validate():.4f}")
