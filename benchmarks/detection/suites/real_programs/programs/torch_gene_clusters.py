"""A transformer tells five classes of biosynthetic gene clusters apart by the embeddings of their genes.

Each cluster is expanded to five rows with shifted context windows, and the rows are split at random. Windows of the
same cluster lie in both training and validation, so the validation accuracy is far too good (fixed: the clusters are
split, and all rows of a cluster go to the same side).
"""

import sys

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)
kinds = ["Alkaloid", "Terpene", "NRP", "Polyketide", "RiPP"]
genes, dim, shifts = 12, 24, (0, -1, 1, -2, 2)
core = rng.normal(0, 1, (len(kinds), 2, dim))
families = rng.normal(0, 1, (40, dim))


def make_clusters(n):
    """A few core genes of the class among neighbours of any family, each with its own sequence."""
    kind = rng.integers(0, len(kinds), n)
    seqs = np.empty((n, genes + 4, dim))
    for i, k in enumerate(kind):
        own = rng.normal(0, 1.1, dim)
        seqs[i] = families[rng.integers(0, 40, genes + 4)] + own + rng.normal(0, 0.25, (genes + 4, dim))
        for j in rng.choice(np.arange(4, genes), 2, replace=False):
            seqs[i, j] = 0.8 * core[k, rng.integers(2)] + own + rng.normal(0, 0.45, dim)
    return seqs, kind


def expand(seqs, kind):
    """Five rows per cluster: the windows _0, _-1, _1, _-2 and _2."""
    rows = np.stack([seqs[:, 2 + s : 2 + s + genes] for s in shifts], 1).reshape(-1, genes, dim)
    return rows.astype("float32"), np.repeat(kind, len(shifts)), np.repeat(np.arange(len(kind)), len(shifts))


rows, labels, cluster_id = expand(*make_clusters(400))
if FIXED:
    train_c, val_c = train_test_split(np.unique(cluster_id), test_size=0.2, random_state=0)
    train_i, val_i = np.flatnonzero(np.isin(cluster_id, train_c)), np.flatnonzero(np.isin(cluster_id, val_c))
else:
    train_i, val_i = train_test_split(np.arange(len(rows)), test_size=0.2, random_state=0, stratify=labels)
new_rows, new_labels, _ = expand(*make_clusters(300))


def tensors(x, y):
    return TensorDataset(torch.from_numpy(x), torch.from_numpy(y))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(dim, nhead=4, dim_feedforward=64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=1)
        self.fc = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, len(kinds)))

    def forward(self, x):
        return self.fc(self.encoder(x).amax(1))


def evaluate(model, data):
    model.eval()
    hits, loss = 0, 0.0
    with torch.no_grad():
        for x, y in DataLoader(data, batch_size=256):
            out = model(x)
            hits += (out.argmax(1) == y).sum().item()
            loss += criterion(out, y).item() * len(y)
    return loss / len(data), hits / len(data)


train_set, val_set = tensors(rows[train_i], labels[train_i]), tensors(rows[val_i], labels[val_i])
model = Classifier()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
loader = DataLoader(train_set, batch_size=64, shuffle=True)
best, patience = float("inf"), 0

for epoch in range(12):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    val_loss, val_acc = evaluate(model, val_set)
    print(f"epoch {epoch + 1}: loss {total / len(train_set):.4f}  val loss {val_loss:.4f}  val acc {val_acc:.4f}")
    if val_loss < best:
        best, patience, best_acc = val_loss, 0, val_acc
        state = {k: v.clone() for k, v in model.state_dict().items()}
    else:
        patience += 1
        if patience == 2:
            break

model.load_state_dict(state)
new_acc = evaluate(model, tensors(new_rows, new_labels))[1]
print(f"validation accuracy {best_acc:.4f}, accuracy on new clusters {new_acc:.4f}")
print("RESULT error_of_validation_accuracy", f"{abs(best_acc - new_acc):.4f}")
