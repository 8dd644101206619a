"""A text classifier whose merged convolutions are in a Python list (fixed: in a ModuleList)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
tokens, labels = data.texts(1600, 24, 60, classes=5)
tokens, labels = torch.tensor(tokens), torch.tensor(labels)


class MergeLayer(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self._layers = nn.ModuleList(layers) if fixed else list(layers)

    def forward(self, x):
        return torch.cat([layer(x) for layer in self._layers], dim=1)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(60, 16)
        self.convolutions = MergeLayer(
            nn.Sequential(nn.Conv1d(16, 8, width), nn.ReLU(), nn.AdaptiveMaxPool1d(1)) for width in (2, 3, 4)
        )
        self.dense = nn.Linear(24, 5)

    def forward(self, x):
        return self.dense(self.convolutions(self.embedding(x).transpose(1, 2)).flatten(1))


model = Classifier()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(5):
    for batch in torch.randperm(1280).split(32):
        optimizer.zero_grad()
        criterion(model(tokens[batch]), labels[batch]).backward()
        optimizer.step()
with torch.no_grad():
    print("RESULT loss", float(criterion(model(tokens[1280:]), labels[1280:])))
