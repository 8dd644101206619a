"""A reversible residual network sorts small noisy pictures, trained by SGD with momentum.

Its gradients explode, and the loss becomes NaN (fixed: their norm is clipped to 0.25).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
clip = 0.25 if fixed else 0
torch.manual_seed(1)
np.random.seed(1)

X, y = load_digits(return_X_y=True)
X = ((X - X.mean()) / X.std()).astype("float32").reshape(-1, 1, 8, 8)
X += 0.5 * np.random.randn(*X.shape).astype("float32")
xa, xb, ya, yb = train_test_split(X, y, test_size=0.3, random_state=1, stratify=y)
xa, xb, ya, yb = torch.tensor(xa), torch.tensor(xb), torch.tensor(ya), torch.tensor(yb)


class RevBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, ch, 3, padding=1))
        self.g = nn.Sequential(nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, ch, 3, padding=1))
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        x1, x2 = torch.chunk(x, 2, 1)
        y1 = x1 + self.f(x2)
        y2 = x2 + self.g(y1)
        return torch.cat([y1, y2], 1)


class RevNet(nn.Module):
    def __init__(self, blocks=5, ch=8):
        super().__init__()
        self.stem = nn.Conv2d(1, 2 * ch, 3, padding=1)
        self.blocks = nn.Sequential(*[RevBlock(ch) for _ in range(blocks)])
        self.fc = nn.Linear(2 * ch * 4, 10)

    def forward(self, x):
        h = self.blocks(self.stem(x))
        h = functional.avg_pool2d(functional.relu(h), 4).flatten(1)
        return self.fc(h)


model = RevNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
for epoch in range(10):
    model.train()
    perm = torch.randperm(len(xa))
    losses = []
    for i in range(0, len(xa), 64):
        b = perm[i : i + 64]
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(xa[b]), ya[b])
        loss.backward()
        if clip > 0:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        out = model(xb)
        acc = (out.argmax(1) == yb).float().mean().item()
    print(
        f"Epoch {epoch}  loss {np.mean(losses):.4f}  val loss {functional.cross_entropy(out, yb).item():.4f}  "
        f"prec1 {100 * acc:.2f}"
    )
print("RESULT val_accuracy", f"{acc:.4f}")
