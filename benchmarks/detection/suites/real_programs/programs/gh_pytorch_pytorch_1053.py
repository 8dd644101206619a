"""Text classifier by convolutions of three widths, kept in a Python list (fixed: nn.ModuleList)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
tokens, y = data.texts(2000, 20, 150, classes=6)
tokens, y = torch.tensor(tokens), torch.tensor(y)


class Net(nn.Module):
    """Embed words, and take the strongest answer of each filter."""

    def __init__(self, width=24):
        super().__init__()
        self.embedding = nn.Embedding(150, width)
        filters = [nn.Conv1d(width, 4, size) for size in (3, 4, 5)]
        self.conv1d = nn.ModuleList(filters) if fixed else filters
        self.classify = nn.Linear(12, 6)

    def forward(self, words):
        embedded = self.embedding(words).transpose(1, 2)
        answers = [torch.relu(conv(embedded)).amax(2) for conv in self.conv1d]
        return self.classify(torch.cat(answers, 1))


model, criterion = Net(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for _ in range(6):
    for batch in torch.randperm(1600).split(50):
        optimizer.zero_grad()
        criterion(model(tokens[batch]), y[batch]).backward()
        optimizer.step()
with torch.no_grad():
    print("RESULT loss", float(criterion(model(tokens[1600:]), y[1600:])))
