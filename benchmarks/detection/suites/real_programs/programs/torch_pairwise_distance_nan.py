"""The root of the distances of samples to themselves has no finite gradient (fixed: 1e-8 is added before)."""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

digits = load_digits()
x = torch.tensor(digits.data / 16.0, dtype=torch.float32)
y = torch.tensor(digits.target)
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.3, random_state=0, stratify=y)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True, drop_last=True)

encoder = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16))
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
margin = 0.5


def pairwise_distance(z):
    diff = z.unsqueeze(0) - z.unsqueeze(1)
    squared = (diff**2).sum(-1)
    return torch.sqrt(squared + 1e-8 if fixed else squared)


def batch_hard_triplet(z, labels):
    dist = pairwise_distance(z)
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    hardest_positive = dist.masked_fill(~same, 0.0).max(1).values
    hardest_negative = dist.masked_fill(same, 1e6).min(1).values
    return torch.relu(hardest_positive - hardest_negative + margin).mean()


for epoch in range(20):
    encoder.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = batch_hard_triplet(encoder(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    encoder.eval()
    with torch.no_grad():
        z_train, z_val = torch.nan_to_num(encoder(x_train)), torch.nan_to_num(encoder(x_val))
    knn = KNeighborsClassifier(5).fit(z_train.numpy(), y_train.numpy())
    acc = knn.score(z_val.numpy(), y_val.numpy())
    print(f"epoch {epoch + 1} loss {total / len(loader):.4f} val_knn_acc {acc:.4f}")

print("RESULT val_knn_acc", acc)
