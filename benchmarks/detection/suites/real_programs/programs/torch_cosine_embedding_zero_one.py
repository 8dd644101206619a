"""Pairs of digits for ``CosineEmbeddingLoss`` have the targets 0 and 1 (fixed: -1 and 1)."""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

digits = load_digits()
x_train, x_val, y_train, y_val = train_test_split(
    (digits.data / 16.0).astype("float32"), digits.target, test_size=0.25, random_state=0, stratify=digits.target
)


class PairDataset(Dataset):
    """Half of the pairs show the same digit, half show different ones."""

    def __init__(self, x, y, n_pairs, seed):
        rng = np.random.default_rng(seed)
        self.x = torch.tensor(x)
        self.pairs = []
        for i in rng.integers(0, len(x), n_pairs):
            same = rng.random() < 0.5
            candidates = np.where((y == y[i]) == same)[0]
            candidates = candidates[candidates != i]
            self.pairs.append((int(i), int(rng.choice(candidates)), int(same)))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, k):
        i, j, same = self.pairs[k]
        return self.x[i], self.x[j], torch.tensor(2.0 * same - 1.0 if fixed else float(same))


train_loader = DataLoader(PairDataset(x_train, y_train, 4000, 1), batch_size=64, shuffle=True)
val_loader = DataLoader(PairDataset(x_val, y_val, 1000, 2), batch_size=250)

encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))
criterion = nn.CosineEmbeddingLoss(margin=0.2)
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)

for epoch in range(12):
    encoder.train()
    losses = []
    for a, b, target in train_loader:
        optimizer.zero_grad()
        loss = criterion(encoder(a), encoder(b), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    encoder.eval()
    hits, count = 0, 0
    with torch.no_grad():
        for a, b, target in val_loader:
            predicted_same = torch.cosine_similarity(encoder(a), encoder(b)) > 0.6
            hits += (predicted_same == (target > 0)).sum().item()
            count += len(a)
    print(f"epoch {epoch + 1} loss {np.mean(losses):.4f} pair accuracy {hits / count:.4f}")

print("RESULT pair_acc", hits / count)
