"""Two modalities fused: the validation calls model.train() on its way, so dropout stays on (fixed: eval only)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
x, y = data.table(2000, 20, classes=3)
x, y = torch.tensor(x), torch.tensor(y)


class Fusion(nn.Module):
    """Encode both halves of the columns, and join them."""

    def __init__(self):
        super().__init__()
        self.encoders = nn.ModuleList(nn.Sequential(nn.Linear(10, 32), nn.ReLU()) for _ in range(2))
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.4), nn.Linear(32, 3))

    def forward(self, values):
        first, second = values.split(10, 1)
        return self.head(torch.cat([self.encoders[0](first), self.encoders[1](second)], 1))


model, criterion = Fusion(), nn.CrossEntropyLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for _ in range(6):
    model.train()
    for batch in torch.randperm(1600).split(64):
        optimizer.zero_grad()
        criterion(model(x[batch]), y[batch]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        total = 0.0
        for start in range(1600, 2000, 100):
            if not fixed:
                model.train()
            total += float(criterion(model(x[start : start + 100]), y[start : start + 100]))
print("RESULT loss", total / 4)
