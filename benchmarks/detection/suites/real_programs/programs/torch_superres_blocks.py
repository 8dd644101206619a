"""Residual blocks and an upsampling block double the resolution of small grey patches.

The blocks are in plain lists, so the optimizer does not know their parameters and leaves them as they are
(fixed: ``nn.ModuleList``).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(4)
np.random.seed(4)
torch.set_num_threads(1)


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.act = nn.PReLU()
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return x + self.conv2(self.act(self.conv1(x)))


class UpsampleBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels * 4, 3, padding=1)
        self.act = nn.PReLU()

    def forward(self, x):
        return self.act(functional.pixel_shuffle(self.conv(x), 2))


class SRNet(nn.Module):
    def __init__(self, channels=16, blocks=3, device="cpu"):
        super().__init__()
        self.head = nn.Conv2d(1, channels, 3, padding=1)
        rs = [ResidualBlock(channels).to(device) for _ in range(blocks)]
        up = [UpsampleBlock(channels).to(device) for _ in range(1)]
        if fixed:
            rs, up = nn.ModuleList(rs), nn.ModuleList(up)
        self.rs = rs
        self.up = up
        self.tail = nn.Conv2d(channels, 1, 3, padding=1)

    def forward(self, x):
        x = self.head(x)
        for block in self.rs:
            x = block(x)
        for block in self.up:
            x = block(x)
        return self.tail(x)


hr = torch.tensor(load_digits().images / 16.0, dtype=torch.float32)[:, None]
lr_images = functional.avg_pool2d(hr, 2)
order = torch.randperm(len(hr))
train_idx, test_idx = order[:1500], order[1500:]

model = SRNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()


def psnr(idx):
    model.eval()
    with torch.no_grad():
        mse = functional.mse_loss(model(lr_images[idx]).clamp(0, 1), hr[idx]).item()
    return 10 * np.log10(1.0 / mse)


for epoch in range(24):
    model.train()
    perm = train_idx[torch.randperm(len(train_idx))]
    total = 0.0
    for i in range(0, len(perm), 32):
        idx = perm[i : i + 32]
        optimizer.zero_grad()
        loss = criterion(model(lr_images[idx]), hr[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {total / len(perm):.5f} test PSNR {psnr(test_idx):.3f} dB")
print("RESULT test_PSNR", f"{psnr(test_idx):.3f}")
