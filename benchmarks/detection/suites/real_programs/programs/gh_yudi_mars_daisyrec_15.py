"""Recommender by factorized interactions: sigmoid before BCEWithLogitsLoss, loss stays high (fixed: logits)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
tokens, y = data.texts(4000, 10, 300)
tokens, y = torch.tensor(tokens), torch.tensor(y).float()


class FactorizationMachine(nn.Module):
    """Score the pairwise interactions of embeddings."""

    def __init__(self):
        super().__init__()
        self.factors = nn.Embedding(300, 16)
        self.weights = nn.Embedding(300, 1)
        self.bias = nn.Parameter(torch.zeros(1))
        nn.init.normal_(self.factors.weight, std=0.05)

    def forward(self, items):
        factors = self.factors(items)
        pairs = 0.5 * (factors.sum(1) ** 2 - (factors**2).sum(1)).sum(1)
        score = self.weights(items).sum((1, 2)) + pairs + self.bias
        return score if fixed else torch.sigmoid(score)


model = FactorizationMachine()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for _ in range(5):
    for batch in torch.randperm(3200).split(64):
        optimizer.zero_grad()
        loss = criterion(model(tokens[batch]), y[batch])
        loss.backward()
        optimizer.step()
with torch.no_grad():
    print("RESULT bce", float(criterion(model(tokens[3200:]), y[3200:])))
