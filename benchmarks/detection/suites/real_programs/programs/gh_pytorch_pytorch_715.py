"""Sentence pairs: hidden layers in a plain list are unknown to the optimizer (fixed: nn.ModuleList)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
x, y = data.table(3000, 20, 3)
x, y = torch.tensor(x), torch.tensor(y)


class SNLINet(nn.Module):
    """Hidden layers in a list, and a classifier."""

    def __init__(self, layers=3, width=32):
        super().__init__()
        hidden = [nn.Linear(20 if layer == 0 else width, width) for layer in range(layers)]
        self.hids = nn.ModuleList(hidden) if fixed else hidden
        self.classifier = nn.Linear(width, 3)

    def forward(self, values):
        for hidden in self.hids:
            values = torch.tanh(hidden(values))
        return self.classifier(values)


model, criterion = SNLINet(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for _ in range(8):
    for batch in torch.randperm(2500).split(32):
        optimizer.zero_grad()
        loss = criterion(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
with torch.no_grad():
    print("RESULT accuracy", float((model(x[2500:]).argmax(1) == y[2500:]).float().mean()))
