"""A schedule meant for epochs goes on at each batch, so the rate is soon nothing (fixed: at each epoch)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)


def picture(kind):
    yy, xx = np.mgrid[0:16, 0:16]
    cx, cy, angle = rng.uniform(6, 9), rng.uniform(6, 9), rng.uniform(0, np.pi)
    u = (xx - cx) * np.cos(angle) + (yy - cy) * np.sin(angle)
    w = -(xx - cx) * np.sin(angle) + (yy - cy) * np.cos(angle)
    body = np.exp(-(u**2 / 12 + w**2 / 3))
    img = np.stack([body, body, body])
    if kind == 1:
        stripes = 0.5 + 0.5 * np.sign(np.sin(2.2 * u))
        img = np.stack([body * stripes, body * stripes, 0.3 * body])
    else:
        img = img * np.array([0.8, 0.6, 0.5])[:, None, None]
    return img + rng.normal(0, 0.15, size=img.shape)


labels = rng.integers(0, 2, size=600)
images = np.stack([picture(k) for k in labels]).astype(np.float32)
images = (images - images.mean((0, 2, 3), keepdims=True)) / images.std((0, 2, 3), keepdims=True)
x, y = torch.tensor(images), torch.tensor(labels)
dataloaders = {
    "train": DataLoader(TensorDataset(x[:400], y[:400]), batch_size=16, shuffle=True),
    "val": DataLoader(TensorDataset(x[400:], y[400:]), batch_size=16),
}

model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(16 * 4 * 4, 2),
)

criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
scheduler = lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)

for epoch in range(15):
    for phase in ["train", "val"]:
        model.train(phase == "train")
        running_loss, running_corrects = 0.0, 0
        for inputs, targets in dataloaders[phase]:
            optimizer.zero_grad()
            with torch.set_grad_enabled(phase == "train"):
                outputs = model(inputs)
                loss = criterion(outputs, targets)
                if phase == "train":
                    loss.backward()
                    optimizer.step()
                    if not fixed:
                        scheduler.step()
            running_loss += loss.item() * len(targets)
            running_corrects += (outputs.argmax(1) == targets).sum().item()
        if fixed and phase == "train":
            scheduler.step()
        n = len(dataloaders[phase].dataset)
        print(f"epoch {epoch} {phase} loss {running_loss / n:.4f} acc {running_corrects / n:.4f}")

print("RESULT val_acc", running_corrects / n)
