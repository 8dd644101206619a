"""A small residual network learns digits with a LookSAM optimizer of its own.

The optimizer divides gradients by their norm, which is zero at first for the layers whose residual branch still has a
zero scale, so that their weights become NaN (fixed: a small number is added to the norm).
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)


class LookSAM:
    """Sharpness-aware updates with the ascent step computed every k-th time only."""

    def __init__(self, model, criterion, base, k=5, alpha=0.5, rho=0.05):
        self.model, self.criterion, self.base = model, criterion, base
        self.k, self.alpha, self.rho = k, alpha, rho
        self.v = {}

    @staticmethod
    def normalized(g):
        if FIXED:
            return g / (g.norm(p=2) + 1e-8)
        return g / g.norm(p=2)

    def step(self, t, x, y):
        params = [p for p in self.model.parameters() if p.requires_grad]
        self.base.zero_grad()
        loss = self.criterion(self.model(x), y)
        loss.backward()
        grads = [p.grad.detach().clone() for p in params]
        if t % self.k == 0:
            norm = torch.stack([g.norm() for g in grads]).norm()
            old = [p.detach().clone() for p in params]
            with torch.no_grad():
                for p, g in zip(params, grads, strict=True):
                    p.add_(g, alpha=(self.rho / (norm + 1e-12)).item())
            self.base.zero_grad()
            self.criterion(self.model(x), y).backward()
            with torch.no_grad():
                for i, (p, o, g) in enumerate(zip(params, old, grads, strict=True)):
                    p.copy_(o)
                    g_hat, s_hat = self.normalized(g), self.normalized(p.grad)
                    cos = (g_hat * s_hat).sum()
                    self.v[i] = p.grad - p.grad.norm(p=2) * cos * g_hat
        else:
            with torch.no_grad():
                for i, (p, g) in enumerate(zip(params, grads, strict=True)):
                    p.grad.add_(self.alpha * g.norm(p=2) * self.normalized(self.v[i]))
        self.base.step()
        return loss.item()


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.GroupNorm(4, c)
        self.conv2, self.norm2 = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.GroupNorm(4, c)
        nn.init.zeros_(self.norm2.weight)

    def forward(self, x):
        out = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(x + self.norm2(self.conv2(out)))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.GroupNorm(4, 16), nn.ReLU())
        self.block1 = Block(16)
        self.down = nn.Sequential(nn.Conv2d(16, 32, 3, stride=2, padding=1, bias=False), nn.GroupNorm(4, 32), nn.ReLU())
        self.block2 = Block(32)
        self.fc = nn.Linear(32 * 16, 10)

    def forward(self, x):
        x = self.block2(self.down(self.block1(self.stem(x))))
        return self.fc(x.flatten(1))


digits = load_digits()
x = torch.tensor((digits.images / 16.0 - 0.305) / 0.376, dtype=torch.float32)[:, None]
y = torch.tensor(digits.target)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)

model = ResNet()
criterion = nn.CrossEntropyLoss()
optimizer = LookSAM(model, criterion, torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9))

t = 0
for epoch in range(8):
    model.train()
    total = 0.0
    for xb, yb in loader:
        total += optimizer.step(t, xb, yb) * len(yb)
        t += 1
    model.eval()
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch + 1:2d} train loss {total / len(y_train):.4f} test accuracy {acc:.4f}")
print("RESULT test_accuracy", f"{acc:.4f}")
