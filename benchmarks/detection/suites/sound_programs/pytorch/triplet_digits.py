"""Metric learning: triplet margin loss with batch-hard mining, PK sampling; 1-NN accuracy on held-out pictures."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

torch.manual_seed(9)
d = load_digits()
x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 16
y = torch.tensor(d.target)
tr, te = train_test_split(range(len(y)), test_size=0.3, random_state=0, stratify=d.target)
xtr, ytr, xte, yte = x[tr], y[tr], x[te], y[te]
groups = [torch.where(ytr == c)[0] for c in range(10)]


class Embedder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.fc = nn.Linear(128, dim)

    def forward(self, x):
        return F.normalize(self.fc(self.conv(x).flatten(1)), dim=1)


def batch_hard(e, y, margin=0.3):
    dist = torch.cdist(e, e)
    same = y[:, None] == y[None]
    eye = torch.eye(len(y), dtype=torch.bool)
    pos = dist.masked_fill(~same | eye, 0.0).max(1).values
    neg = dist.masked_fill(same, float("inf")).min(1).values
    return F.softplus((pos - neg + margin) / 0.2).mean() * 0.2


@torch.no_grad()
def knn():
    net.eval()
    a, b = net(xtr), net(xte)
    return (ytr[torch.cdist(b, a).argmin(1)] == yte).float().mean().item(), batch_hard(b, yte).item()


net = Embedder()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
steps, P, K = 450, 10, 6
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps, eta_min=1e-5)
avg = 0
for step in range(steps):
    net.train()
    idx = torch.cat([g[torch.randperm(len(g))[:K]] for g in groups[:P]])
    loss = batch_hard(net(xtr[idx]), ytr[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    avg += loss.item()
    if (step + 1) % 50 == 0:
        print(
            step + 1,
            "loss",
            round(avg / 50, 4),
            "1-NN {:.4f} (hardest triplets of the whole test set {:.3f})".format(*knn()),
        )
        avg = 0
print(f"RESULT knn_accuracy {knn()[0]:.4f}")
