"""Learned front end of sounds: enc(feats.detach()) cuts it off (fixed: without detach)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
x, _ = data.series(1600, 64)
waves = torch.tensor(x).transpose(1, 2)
speed = waves.diff(dim=2).abs().mean((1, 2))
y = torch.bucketize(speed, speed.quantile(torch.tensor([0.25, 0.5, 0.75])))


class Recognizer(nn.Module):
    """Filters, features, encoder and classifier."""

    def __init__(self):
        super().__init__()
        self.filters = nn.Conv1d(1, 16, 9, stride=4)
        self.enc = nn.GRU(16, 32, batch_first=True)
        self.output = nn.Linear(32, 4)

    def forward(self, sound):
        feats = torch.relu(self.filters(sound)).transpose(1, 2)
        _, state = self.enc(feats if fixed else feats.detach())
        return self.output(state[0])


model, criterion = Recognizer(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(6):
    for batch in torch.randperm(1280).split(64):
        optimizer.zero_grad()
        criterion(model(waves[batch]), y[batch]).backward()
        optimizer.step()
with torch.no_grad():
    print("RESULT accuracy", float((model(waves[1280:]).argmax(1) == y[1280:]).float().mean()))
