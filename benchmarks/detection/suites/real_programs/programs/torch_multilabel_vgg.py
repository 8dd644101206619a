"""A small VGG says which kinds of objects are in a picture, trained by SGD with a polynomial schedule.

The rate of 0.1, and ten times as much for the last layer, is too high (fixed: 0.01).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)


def picture():
    image = rng.rand(3, 32, 32).astype(np.float32) * 0.4
    label = (rng.rand(4) < 0.4).astype(np.float32)
    yy, xx = np.mgrid[:32, :32]
    for kind in np.flatnonzero(label):
        cy, cx, r = rng.randint(6, 26), rng.randint(6, 26), rng.randint(4, 6)
        dy, dx = np.abs(yy - cy), np.abs(xx - cx)
        mask = [
            dy**2 + dx**2 < r * r,
            (dy < r) & (dx < r) & ((dy > r - 3) | (dx > r - 3)),
            (dy < 2) & (dx < r + 2),
            (np.abs(dy - dx) < 2) & (dy < r),
        ][kind]
        image[:, mask] = 0.6 + 0.4 * rng.rand(3, 1)
    return (image - 0.3) / 0.25, label


data = [picture() for _ in range(1500)]
images = torch.tensor(np.stack([d[0] for d in data]).astype(np.float32))
labels = torch.tensor(np.stack([d[1] for d in data]))
x_train, y_train, x_val, y_val = images[:1200], labels[:1200], images[1200:], labels[1200:]


class VGG(nn.Module):
    def __init__(self):
        super().__init__()
        layers, c = [], 3
        for v in (16, 16, "M", 32, 32, "M", 48, 48, 48):
            if v == "M":
                layers.append(nn.MaxPool2d(2))
            else:
                conv = nn.Conv2d(c, v, 3, padding=1)
                nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
                nn.init.zeros_(conv.bias)
                layers += [conv, nn.ReLU()]
                c = v
        self.features = nn.Sequential(*layers)
        self.drop7 = nn.Dropout2d(0.2)
        self.fc8 = nn.Conv2d(c, 4, 1, bias=False)
        nn.init.xavier_uniform_(self.fc8.weight)

    def forward(self, x):
        x = self.fc8(self.drop7(self.features(x)))
        return functional.adaptive_max_pool2d(x, 1).flatten(1)


model = VGG()
lr, epochs, batch = (0.01 if fixed else 0.1), 10, 16
weights = [p for n, p in model.features.named_parameters() if n.endswith("weight")]
biases = [p for n, p in model.features.named_parameters() if n.endswith("bias")]
optimizer = torch.optim.SGD(
    [
        {"params": weights, "lr": lr, "weight_decay": 5e-4},
        {"params": biases, "lr": 2 * lr, "weight_decay": 0},
        {"params": model.fc8.parameters(), "lr": 10 * lr, "weight_decay": 5e-4},
    ],
    lr=lr,
    momentum=0.9,
)
initial = [g["lr"] for g in optimizer.param_groups]
step, max_step = 0, epochs * (len(x_train) // batch)
for epoch in range(epochs):
    model.train()
    order = torch.randperm(len(x_train))
    losses = []
    for i in range(0, len(order), batch):
        for g, base in zip(optimizer.param_groups, initial, strict=True):
            g["lr"] = base * (1 - step / max_step) ** 0.9
        b = order[i : i + batch]
        loss = functional.multilabel_soft_margin_loss(model(x_train[b]), y_train[b])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        out = model(x_val)
        val_loss = functional.multilabel_soft_margin_loss(out, y_val).item()
        acc = ((out > 0).float() == y_val).float().mean().item()
    print(f"epoch {epoch} loss {np.mean(losses):.4f} val loss {val_loss:.4f} val acc {acc:.4f}")
print("RESULT val_label_accuracy", f"{acc:.4f}")
