"""A residual squeeze-and-excitation 3D network marks three organs in small volumes.

Its blocks of convolutions without bias have no batch normalisation, so the network collapses to background
(fixed: batch normalisation before each convolution).
"""

import sys

import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
ORGANS, SIZE = 3, 16


def make(n, seed):
    """CT-like volumes: three ellipsoids of different density in noisy tissue."""
    g = torch.Generator().manual_seed(seed)
    grid = torch.stack(torch.meshgrid(*[torch.arange(SIZE).float()] * 3, indexing="ij"))
    volumes, masks = [], []
    for _ in range(n):
        v = 0.2 * torch.randn(SIZE, SIZE, SIZE, generator=g)
        m = torch.zeros(SIZE, SIZE, SIZE, dtype=torch.long)
        for k in range(ORGANS):
            centre = 4 + 8 * torch.rand(3, generator=g)
            radius = 2.0 + 1.2 * torch.rand(3, generator=g)
            inside = (((grid - centre.view(3, 1, 1, 1)) / radius.view(3, 1, 1, 1)) ** 2).sum(0) < 1
            m[inside] = k + 1
        v = v + torch.tensor([0.0, 0.7, -0.8, 1.5])[m]
        volumes.append(v)
        masks.append(m)
    labels = functional.one_hot(torch.stack(masks), ORGANS + 1).permute(0, 4, 1, 2, 3)
    return torch.stack(volumes).unsqueeze(1), labels.float()


def norm(planes):
    return nn.BatchNorm3d(planes) if fixed else nn.Identity()


def conv3x3(a, b):
    return nn.Conv3d(a, b, 3, padding=1, bias=False)


class SEBasicBlock3D(nn.Module):
    def __init__(self, a, b, reduction=4):
        super().__init__()
        self.bn1, self.conv1 = norm(a), conv3x3(a, b)
        self.bn2, self.conv2 = norm(b), conv3x3(b, b)
        self.se = nn.Sequential(nn.Linear(b, b // reduction), nn.ReLU(), nn.Linear(b // reduction, b), nn.Sigmoid())
        self.short = nn.Conv3d(a, b, 1, bias=False) if a != b else nn.Identity()

    def forward(self, x):
        out = self.conv1(functional.leaky_relu(self.bn1(x)))
        out = self.conv2(functional.leaky_relu(self.bn2(out)))
        w = self.se(out.mean((2, 3, 4)))[:, :, None, None, None]
        return self.short(x) + out * w


class ResNetUNet(nn.Module):
    def __init__(self, w=8):
        super().__init__()
        self.first = conv3x3(1, w)
        self.down1 = SEBasicBlock3D(w, w)
        self.down2 = nn.Sequential(SEBasicBlock3D(w, 2 * w), SEBasicBlock3D(2 * w, 2 * w))
        self.up = nn.ConvTranspose3d(2 * w, w, 2, stride=2)
        self.last = SEBasicBlock3D(2 * w, w)
        self.head = nn.Conv3d(w, ORGANS + 1, 1)

    def forward(self, x):
        a = self.down1(self.first(x))
        b = self.down2(functional.max_pool3d(a, 2))
        out = self.last(torch.cat([self.up(b), a], 1))
        return functional.softmax(self.head(out), 1)


def tversky_loss(p, t, alpha=0.5):
    loss = 0.0
    for k in range(ORGANS + 1):
        tp = (p[:, k] * t[:, k]).sum()
        loss = (
            loss
            + 1
            - tp / (tp + alpha * (p[:, k] * (1 - t[:, k])).sum() + alpha * ((1 - p[:, k]) * t[:, k]).sum() + 1e-6)
        )
    return loss


def dice(p, t):
    hard = functional.one_hot(p.argmax(1), ORGANS + 1).permute(0, 4, 1, 2, 3)
    return [
        (2 * (hard[:, k] * t[:, k]).sum() / (hard[:, k].sum() + t[:, k].sum() + 1e-6)).item()
        for k in range(1, ORGANS + 1)
    ]


x_train, y_train = make(40, 1)
x_test, y_test = make(12, 2)
model = ResNetUNet()
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
for epoch in range(6):
    model.train()
    total = 0.0
    for i in torch.randperm(len(x_train), generator=torch.Generator().manual_seed(epoch)).tolist():
        loss = tversky_loss(model(x_train[i : i + 1]), y_train[i : i + 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(x_train)
    model.eval()
    with torch.no_grad():
        scores = dice(model(x_test), y_test)
    print(f"epoch {epoch} TRAIN loss {total:.4f} test dice", ", ".join(f"{s:.4f}" for s in scores))
print("RESULT mean_dice", f"{sum(scores) / len(scores):.4f}")
