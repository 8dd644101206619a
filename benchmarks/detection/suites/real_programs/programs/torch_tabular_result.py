"""An embedding network for tables predicts the result of matches from numbers and categories of the two teams.

The list of number columns is made of all numeric columns of the table, so that the result itself is an input. The
network copies it, and knows nothing about matches to come, where the result is not known yet and filled with zero
(fixed: the result is taken out of the list).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)


def make_matches(n):
    table = {"league": rng.integers(0, 6, n), "ground": rng.integers(0, 3, n)}
    for name in ("elo_diff", "form_home", "form_away", "rest_days", "injuries", "odds"):
        table[name] = rng.normal(size=n)
    score = (
        1.5 * table["elo_diff"]
        + table["form_home"]
        - table["form_away"]
        - 0.6 * table["injuries"]
        + 0.8 * table["odds"] * (table["ground"] - 1)
        + 0.3 * (table["league"] - 2.5)
    )
    table["result"] = (score + rng.normal(0, 0.5, n) > 0).astype(int)
    return table


known = make_matches(3000)
upcoming = make_matches(1000)
outcome = torch.tensor(upcoming["result"])
upcoming["result"] = np.zeros_like(upcoming["result"])

cat_names = ["league", "ground"]
num_cols = [name for name in known if name not in cat_names]
if FIXED:
    num_cols.remove("result")


def tensors(table):
    cats = torch.tensor(np.stack([table[c] for c in cat_names], 1))
    nums = torch.tensor(np.stack([table[c] for c in num_cols], 1), dtype=torch.float32)
    return cats, nums


cats, nums = tensors(known)
y = torch.tensor(known["result"])
train, val = torch.arange(2400), torch.arange(2400, 3000)


class CategoryEmbeddingModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.league, self.ground = nn.Embedding(6, 4), nn.Embedding(3, 2)
        self.norm = nn.BatchNorm1d(len(num_cols))
        self.layers = nn.Sequential(
            nn.Linear(len(num_cols) + 6, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2)
        )

    def forward(self, cats, nums):
        return self.layers(torch.cat([self.league(cats[:, 0]), self.ground(cats[:, 1]), self.norm(nums)], 1))


model = CategoryEmbeddingModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()


def accuracy(cats, nums, y):
    model.eval()
    with torch.no_grad():
        return (model(cats, nums).argmax(1) == y).float().mean().item()


for epoch in range(20):
    model.train()
    order = train[torch.randperm(len(train))]
    for start in range(0, len(order), 64):
        idx = order[start : start + 64]
        loss = criterion(model(cats[idx], nums[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1} loss {loss.item():.4f} val accuracy {accuracy(cats[val], nums[val], y[val]):.4f}")

print("RESULT upcoming_accuracy", f"{accuracy(*tensors(upcoming), outcome):.4f}")
