"""A small U-Net marks bright bands in noisy grey images.

Adam's learning rate of 0.1 is far too high, and the first steps push the network to where it calls every pixel
background (fixed: a learning rate of 0.001).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)
rng = np.random.RandomState(0)

SIZE = 32


def make_images(n):
    yy, xx = np.mgrid[:SIZE, :SIZE].astype(np.float32)
    images = rng.normal(110, 25, size=(n, 1, SIZE, SIZE))
    masks = np.zeros((n, SIZE, SIZE), np.int64)
    for i in range(n):
        for _ in range(2):
            angle, offset = rng.uniform(0, np.pi), rng.uniform(-9, 9)
            dist = np.abs((xx - SIZE / 2) * np.cos(angle) + (yy - SIZE / 2) * np.sin(angle) - offset)
            masks[i] |= (dist < 2.2).astype(np.int64)
        images[i, 0] += 60 * masks[i]
    images = np.clip(images, 0, 255)
    return torch.from_numpy((images - 125) / 45).float(), torch.from_numpy(masks)


def double_conv(n_in, n_out):
    return nn.Sequential(
        nn.Conv2d(n_in, n_out, 3, padding=1), nn.ReLU(), nn.Conv2d(n_out, n_out, 3, padding=1), nn.ReLU()
    )


class UNet(nn.Module):
    def __init__(self, n_in=1, n_out=2):
        super().__init__()
        self.down1, self.down2, self.bottom = double_conv(n_in, 8), double_conv(8, 16), double_conv(16, 32)
        self.up2 = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.conv2 = double_conv(32, 16)
        self.up1 = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.conv1 = double_conv(16, 8)
        self.out = nn.Conv2d(8, n_out, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(functional.max_pool2d(a, 2))
        c = self.bottom(functional.max_pool2d(b, 2))
        x = self.conv2(torch.cat([self.up2(c), b], 1))
        x = self.conv1(torch.cat([self.up1(x), a], 1))
        return self.out(x)


def evaluate(images, masks):
    model.eval()
    with torch.no_grad():
        pred = model(images).argmax(1)
    accuracy = (pred == masks).float().mean().item()
    inter = ((pred == 1) & (masks == 1)).sum().item()
    union = ((pred == 1) | (masks == 1)).sum().item()
    return accuracy, inter / max(union, 1)


train_x, train_y = make_images(240)
val_x, val_y = make_images(80)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(train_x, train_y), batch_size=12, shuffle=True)

model = UNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001 if FIXED else 0.1)

for epoch in range(1, 16):
    model.train()
    total = 0.0
    for images, masks in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), masks)
        loss.backward()
        optimizer.step()
        total += loss.item()
    accuracy, iou = evaluate(val_x, val_y)
    print(f"Epoch {epoch}  Train loss: {total / len(loader):.4f}  Val accuracy: {accuracy:.4f}  Val IoU: {iou:.4f}")

print("RESULT val_iou", f"{iou:.4f}")
