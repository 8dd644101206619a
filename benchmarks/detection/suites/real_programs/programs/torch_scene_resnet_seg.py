"""A small residual network with dilated convolutions segments drawn scenes.

In the initialisation of the batch normalisation, the line that is meant to set the bias to 0 sets the weight to 0, so
that each of these layers gives 0 and no gradient gets back through them (fixed: the bias is set to 0, and the weight
stays 1).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(4)
rng = np.random.RandomState(4)
CLASSES = 4


def scene():
    label = np.zeros((32, 32), dtype=np.int64)
    yy, xx = np.mgrid[:32, :32]
    label[yy > rng.randint(18, 26)] = 1
    x0, w, h = rng.randint(2, 20), rng.randint(6, 11), rng.randint(8, 16)
    label[24 - h : 24, x0 : x0 + w] = 2
    cx, cy, r = rng.randint(4, 28), rng.randint(4, 24), rng.randint(3, 6)
    label[(xx - cx) ** 2 + (yy - cy) ** 2 < r * r] = 3
    palette = np.array([[0.5, 0.6, 0.8], [0.4, 0.5, 0.3], [0.6, 0.5, 0.5], [0.4, 0.6, 0.5]]) + rng.randn(4, 3) * 0.05
    image = palette[label].transpose(2, 0, 1) * rng.uniform(0.8, 1.15)
    image[:, label == 2] += 0.12 * np.sign(np.sin(xx[label == 2] * 1.6))
    return (image + rng.randn(3, 32, 32) * 0.05 - 0.5) / 0.15, label


def make(n):
    images, labels = zip(*[scene() for _ in range(n)], strict=True)
    return torch.tensor(np.stack(images), dtype=torch.float32), torch.tensor(np.stack(labels))


class ConvBn(nn.Sequential):
    def __init__(self, c_in, c_out, stride=1, dilation=1, relu=True):
        super().__init__()
        self.add_module("conv", nn.Conv2d(c_in, c_out, 3, stride, dilation, dilation, bias=False))
        self.add_module("bn", nn.BatchNorm2d(c_out))
        if relu:
            self.add_module("relu", nn.ReLU())


class Bottleneck(nn.Module):
    def __init__(self, ch, dilation):
        super().__init__()
        self.a, self.b = ConvBn(ch, ch, dilation=dilation), ConvBn(ch, ch, dilation=dilation, relu=False)

    def forward(self, x):
        return functional.relu(x + self.b(self.a(x)))


class DeepLab(nn.Module):
    def __init__(self, n_classes, ch=24):
        super().__init__()
        self.stem = nn.Sequential(ConvBn(3, ch), ConvBn(ch, ch, stride=2))
        self.layers = nn.Sequential(Bottleneck(ch, 1), Bottleneck(ch, 2))
        self.aspp = nn.ModuleList([nn.Conv2d(ch, n_classes, 3, padding=r, dilation=r) for r in (1, 3)])

    def forward(self, x):
        h = self.layers(self.stem(x))
        out = sum(branch(h) for branch in self.aspp)
        return functional.interpolate(out, size=x.shape[2:], mode="bilinear", align_corners=False)


def init_weights(module):
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="relu")
        if module.bias is not None:
            nn.init.constant_(module.bias, 0)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.constant_(module.weight, 1)
        if module.bias is not None:
            nn.init.constant_(module.bias if FIXED else module.weight, 0)


x_train, y_train = make(256)
x_val, y_val = make(80)
model = DeepLab(CLASSES)
model.apply(init_weights)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
epochs, batch = 9, 16
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda e: (1 - e / epochs) ** 0.9)
criterion = nn.CrossEntropyLoss()


def mean_iou(pred, label):
    ious = []
    for c in range(CLASSES):
        union = ((pred == c) | (label == c)).sum().item()
        ious.append(((pred == c) & (label == c)).sum().item() / max(union, 1))
    return float(np.mean(ious))


for epoch in range(epochs):
    model.train()
    losses = []
    for idx in torch.randperm(len(x_train)).split(batch):
        optimizer.zero_grad()
        loss = criterion(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()
    model.eval()
    with torch.no_grad():
        out = model(x_val)
    miou = mean_iou(out.argmax(1), y_val)
    print(f"epoch {epoch} loss {np.mean(losses):.4f} val loss {criterion(out, y_val).item():.4f} mIoU {miou:.4f}")

print("RESULT mean_iou", f"{miou:.4f}")
