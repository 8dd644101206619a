"""Long sequences through a recurrent cell: gradients explode and the loss turns NaN (fixed: clip to a norm of 1)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
x, y = data.series(1200, 80)
x, y = torch.tensor(x), torch.tensor(y)


class ProjectedCell(nn.Module):
    """A recurrent cell without saturation whose state is projected."""

    def __init__(self, width=48):
        super().__init__()
        self.input, self.state = nn.Linear(1, width), nn.Linear(width, width)
        nn.init.orthogonal_(self.state.weight, gain=1.6)
        self.out = nn.Linear(width, 1)

    def forward(self, sequences):
        state = torch.zeros(len(sequences), self.state.in_features)
        for step in sequences.unbind(1):
            state = torch.relu(self.input(step) + self.state(state))
        return self.out(state).squeeze(1)


model, criterion = ProjectedCell(), nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for _ in range(6):
    for batch in torch.randperm(1000).split(32):
        optimizer.zero_grad()
        loss = criterion(model(x[batch]), y[batch])
        loss.backward()
        if fixed:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
with torch.no_grad():
    print("RESULT mse", float(criterion(model(x[1000:]), y[1000:])))
