"""Topics of long documents from counts of words, with an asymmetric loss for few positives among many labels.

The loss takes the logarithm of a sigmoid that has reached 0, so everything becomes NaN (fixed: the sigmoid is clamped).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)


class AsymmetricLoss(nn.Module):
    def __init__(self, gamma_neg=2, gamma_pos=1, eps=1e-8):
        super().__init__()
        self.gamma_neg, self.gamma_pos, self.eps = gamma_neg, gamma_pos, eps

    def forward(self, x, y):
        xs_pos = torch.sigmoid(x)
        xs_neg = 1 - xs_pos
        if fixed:
            loss = y * torch.log(xs_pos.clamp(min=self.eps)) + (1 - y) * torch.log(xs_neg.clamp(min=self.eps))
        else:
            loss = y * torch.log(xs_pos) + (1 - y) * torch.log(xs_neg)
        with torch.no_grad():
            pt = xs_pos * y + xs_neg * (1 - y)
            weight = torch.pow(1 - pt, self.gamma_pos * y + self.gamma_neg * (1 - y))
        return -(loss * weight).sum(1).mean()


X, Y = make_multilabel_classification(
    n_samples=2400, n_features=300, n_classes=12, n_labels=2, length=250, random_state=0
)
X, Y = torch.tensor(X, dtype=torch.float32), torch.tensor(Y, dtype=torch.float32)
print("counts from", X.min().item(), "to", X.max().item(), "share of positive labels", Y.mean().item())
train_loader = DataLoader(TensorDataset(X[:1800], Y[:1800]), batch_size=32, shuffle=True)
x_val, y_val = X[1800:], Y[1800:]

model = nn.Sequential(nn.Linear(300, 128), nn.ReLU(), nn.Linear(128, 12))
criterion = AsymmetricLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(40):
    model.train()
    losses = []
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        out = model(x_val)
    f1 = f1_score(y_val.numpy(), (out > 0).numpy(), average="micro", zero_division=0)
    print(f"epoch {epoch} loss {np.mean(losses):.4f} val micro f1 {f1:.4f} largest logit {out.abs().max():.1f}")
print("RESULT val_micro_f1", f"{f1:.4f}")
