"""DeepFM predicts clicks from categorical and continuous columns.

Products of the continuous columns, which reach thousands, get huge (fixed: continuous columns normalised).
"""

import sys

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(2018)
rng = np.random.RandomState(2018)

ROWS, CONT = 5000, 6
cate_sizes = [20, 50, 8, 12]
continuous = np.stack(
    [
        rng.lognormal(3, 1.2, ROWS),
        rng.lognormal(5, 1.5, ROWS),
        rng.poisson(4, ROWS),
        rng.lognormal(7, 1.0, ROWS),
        rng.uniform(0, 2000, ROWS),
        rng.poisson(30, ROWS),
    ],
    1,
)
categories = np.stack([rng.randint(0, s, ROWS) for s in cate_sizes], 1)
effects = [rng.normal(0, 0.8, s) for s in cate_sizes]
score = (
    sum(effect[categories[:, k]] for k, effect in enumerate(effects))
    + 0.7 * (np.log(continuous[:, 0]) - 3)
    - 0.002 * (continuous[:, 4] - 1000)
)
score += 0.8 * effects[0][categories[:, 0]] * effects[2][categories[:, 2]] - 0.6
label = (rng.rand(ROWS) < 1 / (1 + np.exp(-1.4 * score))).astype(np.float32)
if fixed:
    continuous = np.log1p(continuous)
    continuous = (continuous - continuous[:4000].mean(0)) / continuous[:4000].std(0)
continuous = torch.tensor(continuous, dtype=torch.float32)
categories, label = torch.tensor(categories), torch.tensor(label)


class DeepFM(nn.Module):
    def __init__(self, emb=6, hidden=(32, 32), dropout=0.2):
        super().__init__()
        self.first_cont = nn.ModuleList([nn.Linear(1, 1) for _ in range(CONT)])
        self.first_cate = nn.ModuleList([nn.Embedding(s, 1) for s in cate_sizes])
        self.second_cont = nn.ModuleList([nn.Linear(1, emb) for _ in range(CONT)])
        self.second_cate = nn.ModuleList([nn.Embedding(s, emb) for s in cate_sizes])
        width = emb * (CONT + len(cate_sizes))
        self.deep = nn.Sequential(
            nn.Linear(width, hidden[0]),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden[0], hidden[1]),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden[1], 1),
        )
        self.bias = nn.Parameter(torch.zeros(1))
        for embedding in self.second_cate:
            nn.init.normal_(embedding.weight, 0, 0.1)

    def forward(self, xi, xv):
        first = [layer(xi[:, k : k + 1]) for k, layer in enumerate(self.first_cont)] + [
            layer(xv[:, k]) for k, layer in enumerate(self.first_cate)
        ]
        second = [layer(xi[:, k : k + 1]) for k, layer in enumerate(self.second_cont)] + [
            layer(xv[:, k]) for k, layer in enumerate(self.second_cate)
        ]
        embedded = torch.stack(second, 1)
        fm = 0.5 * (embedded.sum(1).pow(2) - embedded.pow(2).sum(1)).sum(1)
        return torch.cat(first, 1).sum(1) + fm + self.deep(embedded.flatten(1)).squeeze(1) + self.bias


loader = DataLoader(TensorDataset(continuous[:4000], categories[:4000], label[:4000]), batch_size=100, shuffle=True)
model = DeepFM()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
for epoch in range(15):
    model.train()
    total = 0
    for xi, xv, y in loader:
        loss = functional.binary_cross_entropy_with_logits(model(xi, xv), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        scores = model(continuous[4000:], categories[4000:])
    auc = roc_auc_score(label[4000:].numpy(), torch.nan_to_num(scores).numpy())
    acc = ((scores > 0).float() == label[4000:]).float().mean().item()
    print(f"Epoch {epoch} loss {total / len(loader):.4f}  val acc {acc:.4f}  val auc {auc:.4f}")
print("RESULT val_auc", f"{auc:.4f}")
