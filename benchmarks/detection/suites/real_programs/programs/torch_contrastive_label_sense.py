"""A contrastive loss takes pairs of the same digit for different ones (fixed: for what they are)."""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)

digits = load_digits()
x = (digits.data / 16.0).astype("float32")
x_train, x_val, y_train, y_val = train_test_split(
    x, digits.target, test_size=0.3, random_state=0, stratify=digits.target
)


def make_pairs(x, y, count):
    left, right, label = [], [], []
    for k in range(count):
        i = rng.integers(len(x))
        pool = np.flatnonzero(y == y[i]) if k % 2 == 0 else np.flatnonzero(y != y[i])
        left.append(x[i])
        right.append(x[rng.choice(pool)])
        label.append(1.0 if k % 2 == 0 else 0.0)
    return torch.tensor(np.array(left)), torch.tensor(np.array(right)), torch.tensor(label)


train_pairs = TensorDataset(*make_pairs(x_train, y_train, 4000))
val_left, val_right, val_label = make_pairs(x_val, y_val, 1000)
loader = DataLoader(train_pairs, batch_size=64, shuffle=True)


class ContrastiveLoss(nn.Module):
    """Pairs that belong together are pulled together, others pushed apart up to a margin."""

    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, a, b, same):
        distance = functional.pairwise_distance(a, b)
        pull = distance**2
        push = torch.clamp(self.margin - distance, min=0) ** 2
        different = 1 - same if fixed else same
        return ((1 - different) * pull + different * push).mean()


encoder = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16))
criterion = ContrastiveLoss()
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)

for epoch in range(10):
    encoder.train()
    total = 0.0
    for a, b, same in loader:
        optimizer.zero_grad()
        loss = criterion(encoder(a), encoder(b), same)
        loss.backward()
        optimizer.step()
        total += loss.item()
    encoder.eval()
    with torch.no_grad():
        distance = functional.pairwise_distance(encoder(val_left), encoder(val_right))
    auc = roc_auc_score(val_label.numpy(), -distance.numpy())
    print(f"epoch {epoch + 1} loss {total / len(loader):.4f} val_same_digit_auc {auc:.4f}")

print("RESULT val_auc", auc)
