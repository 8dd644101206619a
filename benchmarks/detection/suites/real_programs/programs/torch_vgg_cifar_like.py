"""A small VGG without batch normalisation tells ten kinds of colour pictures apart.

SGD with momentum and a rate of 0.05 is too high for it (fixed: 0.001).
"""

import math
import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
yy, xx = np.mgrid[:32, :32]


def picture(c):
    f, ang = (0.45, 0.9)[c % 2], (c // 2) * math.pi / 5 + rng.normal(0, 0.07)
    wave = np.sin(f * (xx * math.cos(ang) + yy * math.sin(ang)) + rng.uniform(0, 6.3))
    return (0.5 + 0.25 * wave * rng.uniform(0.5, 1, 3)[:, None, None] + rng.normal(0, 0.08, (3, 32, 32))).clip(0, 1)


lab = rng.integers(0, 10, 1500)
X = torch.tensor(np.stack([picture(c) for c in lab]), dtype=torch.float32)
X = (X - torch.tensor([0.485, 0.456, 0.406])[:, None, None]) / torch.tensor([0.229, 0.224, 0.225])[:, None, None]
Y = torch.tensor(lab)
loader = DataLoader(TensorDataset(X[:1200], Y[:1200]), batch_size=16, shuffle=True)


def make_layers(cfg):
    layers, c = [], 3
    for v in cfg:
        if v == "M":
            layers += [nn.MaxPool2d(2, 2)]
        else:
            layers += [nn.Conv2d(c, v, 3, padding=1), nn.ReLU(inplace=True)]
            c = v
    return nn.Sequential(*layers)


class VGG(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = make_layers([16, "M", 32, 32, "M", 64, 64, "M", 64, "M", 64, "M"])
        self.classifier = nn.Sequential(
            nn.Dropout(),
            nn.Linear(64, 128),
            nn.ReLU(True),
            nn.Dropout(),
            nn.Linear(128, 128),
            nn.ReLU(True),
            nn.Linear(128, 10),
        )
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                n = m.kernel_size[0] * m.kernel_size[1] * m.out_channels
                m.weight.data.normal_(0, math.sqrt(2.0 / n))
                m.bias.data.zero_()

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


model, criterion = VGG(), nn.CrossEntropyLoss()
lr = 0.001 if fixed else 0.05
optimizer = torch.optim.SGD(model.parameters(), lr, momentum=0.9, weight_decay=5e-4)
for epoch in range(15):
    model.train()
    losses = []
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        prec = (model(X[1200:]).argmax(1) == Y[1200:]).float().mean().item()
    print(f"Epoch [{epoch}] Loss {np.mean(losses):.4f} Prec@1 {100 * prec:.2f}")
print("RESULT prec1", round(100 * prec, 2))
