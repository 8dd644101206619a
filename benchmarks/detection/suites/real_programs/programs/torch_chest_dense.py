"""A small DenseNet recognises five findings in drawn chest films.

The drop rate is 0.9, as if it were the rate that is kept: nine out of ten new values are dropped in each dense layer,
and as many before the classifier (fixed: a drop rate of 0.1).
"""

import sys

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(7)
rng = np.random.RandomState(7)
FINDINGS = ["Cardiomegaly", "Edema", "Consolidation", "Atelectasis", "Effusion"]
DROP_RATE = 0.1 if FIXED else 0.9


def film():
    yy, xx = np.mgrid[-1:1:24j, -1:1:24j]
    present = rng.rand(5) < np.array([0.35, 0.3, 0.35, 0.35, 0.4])
    dx, dy = rng.uniform(-0.08, 0.08, 2)
    lungs = np.exp(-(((np.abs(xx - dx) - 0.48) / 0.28) ** 4 + ((yy - dy) / 0.7) ** 4))
    image = 0.75 - 0.5 * lungs
    width = rng.uniform(0.38, 0.5) if present[0] else rng.uniform(0.2, 0.32)
    image += 0.3 * np.exp(-(((xx - dx - 0.1) / width) ** 4) - ((yy - 0.3) / 0.3) ** 4)
    if present[1]:
        image += 0.12 * lungs * (1 + np.sin(xx * 22) * np.sin(yy * 22)) * rng.uniform(0.8, 1.3)
    if present[2]:
        side = rng.choice([-1, 1])
        cy = rng.uniform(-0.4, 0.1)
        image += 0.4 * np.exp(-(((xx - dx - side * 0.5) / 0.16) ** 2 + ((yy - cy) / 0.16) ** 2))
    if present[3]:
        side, cy = rng.choice([-1, 1]), rng.uniform(-0.3, 0.4)
        image += 0.35 * np.exp(-(((yy - cy - 0.3 * side * xx) / 0.06) ** 2)) * (side * xx > 0.15) * (side * xx < 0.8)
    if present[4]:
        side, level = rng.choice([-1, 1]), rng.uniform(0.35, 0.55)
        image += 0.4 * lungs * (side * xx > 0) / (1 + np.exp(-(yy - level) * 20))
    image = image * rng.uniform(0.85, 1.15) + rng.randn(24, 24) * 0.06
    return image, present


def make(n):
    images, labels = zip(*[film() for _ in range(n)], strict=True)
    x = torch.tensor(np.stack(images), dtype=torch.float32)[:, None]
    return (x - 0.6) / 0.22, torch.tensor(np.stack(labels), dtype=torch.float32)


class DenseLayer(nn.Module):
    def __init__(self, c_in, growth, drop_rate):
        super().__init__()
        self.norm, self.conv = nn.BatchNorm2d(c_in), nn.Conv2d(c_in, growth, 3, padding=1, bias=False)
        self.drop_rate = drop_rate

    def forward(self, x):
        new = self.conv(functional.relu(self.norm(x)))
        return torch.cat([x, functional.dropout(new, p=self.drop_rate, training=self.training)], dim=1)


class DenseNet(nn.Module):
    def __init__(self, num_classes, growth=10, init=12, drop_rate=0.0):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, init, 3, padding=1, bias=False), nn.BatchNorm2d(init), nn.ReLU(), nn.MaxPool2d(2)
        )
        ch, blocks = init, []
        for b in range(2):
            for _ in range(3):
                blocks.append(DenseLayer(ch, growth, drop_rate))
                ch += growth
            if b == 0:
                blocks += [nn.BatchNorm2d(ch), nn.ReLU(), nn.Conv2d(ch, ch // 2, 1, bias=False), nn.AvgPool2d(2)]
                ch //= 2
        self.features = nn.Sequential(*blocks, nn.BatchNorm2d(ch), nn.ReLU())
        self.dropout = nn.Dropout(drop_rate)
        self.classifier = nn.Linear(2 * ch, num_classes)

    def forward(self, x):
        h = self.features(self.stem(x))
        h = torch.cat([h.mean((2, 3)), h.amax((2, 3))], dim=1)
        return self.classifier(self.dropout(h))


x_train, y_train = make(900)
x_valid, y_valid = make(400)
model = DenseNet(len(FINDINGS), drop_rate=DROP_RATE)
criterion = nn.BCEWithLogitsLoss()
epochs = 8
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x_train, y_train), batch_size=30, shuffle=True)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)

for epoch in range(epochs):
    model.train()
    losses = []
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()
    model.eval()
    with torch.no_grad():
        out = torch.cat([model(part) for part in x_valid.split(100)])
    auc = roc_auc_score(y_valid.numpy(), out.numpy(), average="macro")
    print(f"epoch {epoch} loss {np.mean(losses):.4f} valid loss {criterion(out, y_valid).item():.4f} AUC {auc:.4f}")

print("RESULT mean_auc", f"{auc:.4f}")
