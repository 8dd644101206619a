"""A factorisation of users and films with a weight decay of 0.01, which drives all embeddings to zero.

Every film then has the same score (fixed: no weight decay). Negatives are drawn anew for each epoch; the evaluation
looks for one film left out for each user among the first ten of 100.
"""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
rng = np.random.default_rng(1)

USERS, ITEMS, TASTES = 400, 300, 6
taste_u = rng.dirichlet(np.full(TASTES, 0.2), USERS)
taste_i = rng.dirichlet(np.full(TASTES, 0.2), ITEMS)
prob = taste_u @ taste_i.T
seen = []
for u in range(USERS):
    p = prob[u] ** 2
    seen.append(rng.choice(ITEMS, size=31, replace=False, p=p / p.sum()))
train_items = [set(s[:-1].tolist()) for s in seen]
test_item = [int(s[-1]) for s in seen]
test_negatives = [rng.choice(np.setdiff1d(np.arange(ITEMS), s), 99, replace=False) for s in seen]

config = {
    "num_epoch": 30,
    "batch_size": 256,
    "adam_lr": 1e-3 * 5,
    "latent_dim": 16,
    "num_negative": 4,
    "l2_regularization": 0.0 if fixed else 0.01,
}


class GMF(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.user = nn.Embedding(USERS, dim)
        self.item = nn.Embedding(ITEMS, dim)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        self.affine_output = nn.Linear(dim, 1)
        self.logistic = nn.Sigmoid()

    def forward(self, u, i):
        return self.logistic(self.affine_output(self.user(u) * self.item(i))).squeeze(-1)


model = GMF(config["latent_dim"])
optimizer = torch.optim.Adam(model.parameters(), lr=config["adam_lr"], weight_decay=config["l2_regularization"])
criterion = nn.BCELoss()


def instances():
    us, its, ys = [], [], []
    for u in range(USERS):
        for i in train_items[u]:
            us.append(u), its.append(i), ys.append(1.0)
            for drawn in rng.integers(0, ITEMS, config["num_negative"]):
                j = drawn
                while int(j) in train_items[u]:
                    j = rng.integers(0, ITEMS)
                us.append(u), its.append(int(j)), ys.append(0.0)
    order = torch.randperm(len(us))
    return torch.tensor(us)[order], torch.tensor(its)[order], torch.tensor(ys)[order]


def evaluate():
    model.eval()
    hits, ndcg = 0, 0.0
    with torch.no_grad():
        for u in range(USERS):
            # the positive comes last, ties do not help it
            items = torch.tensor([*test_negatives[u], test_item[u]])
            s = model(torch.full((100,), u), items)
            rank = int((s[:-1] >= s[-1]).sum())
            if rank < 10:
                hits += 1
                ndcg += 1 / np.log2(rank + 2)
    return hits / USERS, ndcg / USERS


for epoch in range(config["num_epoch"]):
    model.train()
    us, its, ys = instances()
    total = 0.0
    for k in range(0, len(us), config["batch_size"]):
        sl = slice(k, k + config["batch_size"])
        optimizer.zero_grad()
        loss = criterion(model(us[sl], its[sl]), ys[sl])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(us[sl])
    if epoch % 5 == 4:
        hr, nd = evaluate()
        print(f"[epoch {epoch}] loss {total / len(us):.4f} HR {hr:.4f} NDCG {nd:.4f}")

print("RESULT hr_at_10", f"{evaluate()[0]:.4f}")
