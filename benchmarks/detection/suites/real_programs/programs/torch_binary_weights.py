"""A network with binary weights is trained on pictures, and evaluated with a transform of its own.

Training only subtracts the mean from pixels of 0 to 255, evaluation also divides by the deviation (fixed: same
preprocessing as in training).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)


def make_pictures(n):
    # 6 kinds of textures, 3x16x16, pixel values 0..255
    y = rng.randint(0, 6, n)
    u, v = np.meshgrid(np.arange(16), np.arange(16))
    pictures = np.zeros((n, 3, 16, 16))
    for i, kind in enumerate(y):
        angle = np.pi * kind / 6 + rng.normal(0, 0.08)
        wave = np.sin((np.cos(angle) * u + np.sin(angle) * v) * 0.9 + rng.uniform(0, 6.28))
        base = rng.uniform(90, 160, (3, 1, 1))
        pictures[i] = base + 40 * wave + rng.normal(0, 30, (3, 16, 16))
    return np.clip(pictures, 0, 255).astype(np.float32), y


class BinSign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w):
        ctx.save_for_backward(w)
        return torch.sign(w) * w.abs().mean()

    @staticmethod
    def backward(ctx, grad):
        (w,) = ctx.saved_tensors
        return grad * (w.abs() < 1).float()


class BinConv(nn.Conv2d):
    def forward(self, x):
        return functional.conv2d(x, BinSign.apply(self.weight), self.bias, padding=self.padding)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 5, padding=2)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = BinConv(16, 32, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.fc = nn.Linear(32, 6)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.bn1(self.conv1(x))), 2)
        x = functional.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


x_train, y_train = make_pictures(1500)
x_val, y_val = make_pictures(500)
mean = x_train.mean((0, 2, 3), keepdims=True)
std = x_train.std((0, 2, 3), keepdims=True)


def train_transform(x):
    return torch.tensor(x - mean)


def val_transform(x):
    if fixed:
        return torch.tensor(x - mean)
    # as torchvision's transforms do it
    return torch.tensor((x / 255 - mean / 255) / (std / 255))


x_fit, y_fit = train_transform(x_train), torch.tensor(y_train)
x_eval, y_eval = val_transform(x_val), torch.tensor(y_val)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-5)
for epoch in range(8):
    net.train()
    perm = torch.randperm(len(x_fit))
    hits, total = 0, 0.0
    for i in range(0, len(perm), 50):
        batch = perm[i : i + 50]
        out = net(x_fit[batch])
        loss = functional.cross_entropy(out, y_fit[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits += (out.argmax(1) == y_fit[batch]).sum().item()
        total += loss.item() * len(batch)
    net.eval()
    with torch.no_grad():
        out = net(x_eval)
        val_loss, val_acc = (
            functional.cross_entropy(out, y_eval).item(),
            (out.argmax(1) == y_eval).float().mean().item(),
        )
    train_loss, train_acc = total / len(x_fit), hits / len(x_fit)
    print(f"Epoch {epoch}  train loss {train_loss:.4f} prec@1 {train_acc:.3f}   val {val_loss:.4f} {val_acc:.3f}")
print("RESULT val_top1", f"{val_acc:.4f}")
