"""Masks of a U-Net are 0 and 255 although the loss is binary cross entropy, which has no bound then.

The loss pushes all outputs up (fixed: masks divided by 255).
"""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)


def make(n, size=32):
    yy, xx = np.mgrid[:size, :size]
    imgs, masks = [], []
    for _ in range(n):
        m = np.zeros((size, size), bool)
        for _ in range(rng.randint(1, 3)):
            cy, cx = rng.uniform(7, size - 7, 2)
            a, b = rng.uniform(3, 7, 2)
            m |= ((yy - cy) / a) ** 2 + ((xx - cx) / b) ** 2 < 1
        im = 90 + 60 * m + rng.normal(0, 25, m.shape) + 30 * np.sin(xx / rng.uniform(3, 9))
        imgs.append(np.clip(im, 0, 255).astype(np.uint8))
        masks.append((m * 255).astype(np.uint8))
    return np.stack(imgs), np.stack(masks)


def preprocess(imgs, masks):
    x = torch.from_numpy(imgs).float().unsqueeze(1) / 255
    y = torch.from_numpy(masks).float().unsqueeze(1)
    if fixed:
        y = y / 255
    return x, y


train_x, train_y = preprocess(*make(240))
val_img, val_mask = make(60)
val_x, _ = preprocess(val_img, val_mask)
val_true = torch.from_numpy(val_mask > 127).unsqueeze(1)


def double_conv(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1),
        nn.BatchNorm2d(o),
        nn.ReLU(inplace=True),
        nn.Conv2d(o, o, 3, padding=1),
        nn.BatchNorm2d(o),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, n_channels=1, n_classes=1):
        super().__init__()
        self.inc = double_conv(n_channels, 8)
        self.down1 = double_conv(8, 16)
        self.down2 = double_conv(16, 32)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.up1 = double_conv(48, 16)
        self.up2 = double_conv(24, 8)
        self.outc = nn.Conv2d(8, n_classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(self.pool(x1))
        x3 = self.down2(self.pool(x2))
        x = self.up1(torch.cat([x2, self.up(x3)], dim=1))
        x = self.up2(torch.cat([x1, self.up(x)], dim=1))
        return self.outc(x)


net = UNet()
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3, weight_decay=1e-8)
criterion = nn.BCEWithLogitsLoss()


def dice():
    net.eval()
    with torch.no_grad():
        pred = torch.sigmoid(net(val_x)) > 0.5
    inter = (pred & val_true).sum((1, 2, 3)).float()
    return (2 * inter / (pred.sum((1, 2, 3)) + val_true.sum((1, 2, 3))).clamp(min=1)).mean().item()


for epoch in range(10):
    net.train()
    epoch_loss = 0.0
    perm = torch.randperm(len(train_x))
    for i in range(0, len(perm), 8):
        imgs, true_masks = train_x[perm[i : i + 8]], train_y[perm[i : i + 8]]
        masks_pred = net(imgs)
        loss = criterion(masks_pred, true_masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(imgs)
    print(f"Epoch {epoch + 1}/10 loss: {epoch_loss / len(perm):.4f} validation dice: {dice():.4f}")

print("RESULT dice", round(dice(), 4))
