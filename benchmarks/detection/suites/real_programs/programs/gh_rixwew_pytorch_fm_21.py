"""Click rates by attention between fields: dropout stays on in evaluation (fixed: training=self.training)."""

import sys

import data
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
tokens, y = data.texts(4000, 8, 400)
tokens, y = torch.tensor(tokens), torch.tensor(y).float()


class AttentionalFactorizationMachine(nn.Module):
    """Weigh the products of embeddings by attention."""

    def __init__(self, width=16):
        super().__init__()
        self.embedding = nn.Embedding(400, width)
        self.attention, self.projection = nn.Linear(width, 16), nn.Linear(16, 1)
        self.fc = nn.Linear(width, 1)

    def forward(self, fields):
        embedded = self.embedding(fields)
        rows, columns = torch.triu_indices(8, 8, 1)
        products = embedded[:, rows] * embedded[:, columns]
        scores = functional.softmax(self.projection(functional.relu(self.attention(products))), dim=1)
        active = self.training if fixed else True
        scores = functional.dropout(scores, p=0.5, training=active)
        pooled = functional.dropout((scores * products).sum(1), p=0.5, training=active)
        return self.fc(pooled).squeeze(1)


model, criterion = AttentionalFactorizationMachine(), nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for _ in range(8):
    model.train()
    for batch in torch.randperm(3200).split(64):
        optimizer.zero_grad()
        loss = criterion(model(tokens[batch]), y[batch])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = ((model(tokens[3200:]) > 0) == (y[3200:] > 0.5)).float().mean()
print("RESULT accuracy", float(accuracy))
