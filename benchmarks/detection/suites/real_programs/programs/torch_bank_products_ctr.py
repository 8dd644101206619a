"""DeepFM predicts whether a customer of a bank buys a product, from categories and numbers of both.

The numbers go in as they are, some in the hundreds and others below a tenth, so that the scores are in the thousands,
the sigmoid is saturated, and the ranking is near chance (fixed: each column is scaled to 0 to 1 by its range in the
training rows).
"""

import sys

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)

N = 12000
TOKENS = [2, 6, 5, 5, 8, 3]  # sex, grade, risk of customer, risk of product, kind, mode
tokens = np.stack([rng.integers(0, c, N) for c in TOKENS], 1)
age = rng.normal(45, 12, N).clip(18, 85)
assessed = rng.exponential(400, N).clip(0, 2500)  # days since the last assessment
held = rng.choice([7, 30, 90, 182, 364, 728], N).astype(float)
issued = rng.exponential(300, N).clip(1, 3000)
expected = rng.normal(0.04, 0.01, N).clip(0.005, 0.09)
lowest = expected * rng.uniform(0.2, 0.9, N)
floats = np.stack([age, assessed, held, issued, expected, lowest], 1)
score = (
    2.0 * (tokens[:, 2] == tokens[:, 3])
    + 0.5 * tokens[:, 1]
    - 0.05 * (age - 45) * (tokens[:, 0] - 0.5)
    - 0.0025 * issued
    + 80 * (expected - 0.04)
    - 0.002 * held
    + rng.normal(0, 0.5, N)
)
label = (score > np.quantile(score, 0.9)).astype(np.float32)
cut = int(0.8 * N)

if FIXED:
    low, high = floats[:cut].min(0), floats[:cut].max(0)
    floats = (floats - low) / (high - low)

offsets = np.cumsum([0, *TOKENS[:-1]])
tok = torch.tensor(tokens + offsets)
val = torch.tensor(floats, dtype=torch.float32)
lab = torch.tensor(label)


class DeepFM(nn.Module):
    def __init__(self, dim=10, hidden=(64, 64)):
        super().__init__()
        n_fields = len(TOKENS) + val.shape[1]
        self.token = nn.Embedding(sum(TOKENS), dim)
        self.number = nn.Embedding(val.shape[1], dim)
        self.token_first = nn.Embedding(sum(TOKENS), 1)
        self.number_first = nn.Embedding(val.shape[1], 1)
        self.bias = nn.Parameter(torch.zeros(1))
        layers, size = [], n_fields * dim
        for h in hidden:
            layers += [nn.Linear(size, h), nn.ReLU()]
            size = h
        self.deep = nn.Sequential(*layers, nn.Linear(size, 1))
        for module in self.modules():
            if isinstance(module, (nn.Embedding, nn.Linear)):
                nn.init.xavier_normal_(module.weight)

    def forward(self, tok, val):
        first = self.token_first(tok).sum(1) + (self.number_first.weight * val.unsqueeze(2)).sum(1) + self.bias
        e = torch.cat([self.token(tok), self.number.weight * val.unsqueeze(2)], dim=1)
        fm = 0.5 * (e.sum(1) ** 2 - (e**2).sum(1)).sum(1, keepdim=True)
        return torch.sigmoid(first + fm + self.deep(e.flatten(1))).squeeze(1)


model = DeepFM()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.BCELoss()


def auc():
    model.eval()
    with torch.no_grad():
        return roc_auc_score(label[cut:], model(tok[cut:], val[cut:]).numpy())


for epoch in range(12):
    model.train()
    total = 0.0
    for idx in torch.randperm(cut).split(128):
        optimizer.zero_grad()
        loss = criterion(model(tok[idx], val[idx]), lab[idx])
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} training [train loss: {total:.4f}] valid auc {auc():.4f}", flush=True)

print("RESULT test_auc", f"{auc():.4f}")
