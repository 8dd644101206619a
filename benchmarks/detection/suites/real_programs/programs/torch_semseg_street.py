"""A small FCN segments pictures like those of streets into four classes.

A learning rate of 0.2 with a momentum of 0.99 is far too high (fixed: smaller learning rate, 0.01).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(1337)
rng = np.random.RandomState(1337)
cfg = {
    "n_classes": 4,
    "train_iters": 400,
    "val_interval": 50,
    "batch_size": 8,
    "optimizer": {"lr": 0.01 if fixed else 0.2, "weight_decay": 5e-4, "momentum": 0.99},
}


def street(n, side=32):
    pictures = np.zeros((n, 3, side, side), np.float32)
    classes = np.zeros((n, side, side), np.int64)
    for k in range(n):
        horizon = rng.randint(10, 18)
        classes[k, horizon:] = 1  # road
        for _ in range(rng.randint(1, 4)):  # buildings
            x, w, h = rng.randint(0, side - 6), rng.randint(4, 9), rng.randint(4, 10)
            classes[k, horizon - h : horizon, x : x + w] = 2
        for _ in range(rng.randint(1, 3)):  # cars
            x, top = rng.randint(0, side - 7), rng.randint(horizon, side - 4)
            classes[k, top : top + 4, x : x + 7] = 3
        palette = np.array([[0.6, 0.7, 0.9], [0.4, 0.4, 0.4], [0.6, 0.4, 0.3], [0.7, 0.2, 0.3]]) + rng.normal(
            0, 0.06, (4, 3)
        )
        pictures[k] = palette[classes[k]].transpose(2, 0, 1) + rng.normal(0, 0.12, (3, side, side))
    return torch.tensor(pictures - 0.5), torch.tensor(classes)


class FCNSmall(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.block1 = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()
        )
        self.block2 = nn.Sequential(
            nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU()
        )
        self.score1 = nn.Conv2d(16, n_classes, 1)
        self.score2 = nn.Conv2d(32, n_classes, 1)

    def forward(self, x):
        fine = self.block1(x)
        coarse = self.block2(fine)
        return self.score1(fine) + functional.interpolate(
            self.score2(coarse), size=x.shape[2:], mode="bilinear", align_corners=False
        )


train_loader = DataLoader(TensorDataset(*street(240)), batch_size=cfg["batch_size"], shuffle=True)
val_images, val_labels = street(60)
model = FCNSmall(cfg["n_classes"])
optimizer = torch.optim.SGD(model.parameters(), **cfg["optimizer"])


def mean_iou():
    model.eval()
    with torch.no_grad():
        predicted = model(val_images).argmax(1)
    ious = [
        ((predicted == c) & (val_labels == c)).sum().item()
        / max(1, ((predicted == c) | (val_labels == c)).sum().item())
        for c in range(4)
    ]
    return np.mean(ious)


iteration = 0
while iteration < cfg["train_iters"]:
    for images, labels in train_loader:
        iteration += 1
        model.train()
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        if iteration % cfg["val_interval"] == 0:
            print(f"Iter [{iteration}/{cfg['train_iters']}]  Loss: {loss.item():.4f}  mIoU: {mean_iou():.4f}")
        if iteration == cfg["train_iters"]:
            break
print("RESULT mean_iou", f"{mean_iou():.4f}")
