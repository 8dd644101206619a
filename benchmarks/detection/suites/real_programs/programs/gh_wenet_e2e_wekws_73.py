"""Keyword spotting by dilated convolutions: the executor never resets gradients (fixed: zero_grad before backward)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
tokens, y = data.texts(1600, 24, 40, classes=4)
features = nn.functional.one_hot(torch.tensor(tokens), 40).float().transpose(1, 2)
y = torch.tensor(y)
model = nn.Sequential(
    nn.Conv1d(40, 32, 3, padding=1),
    nn.BatchNorm1d(32),
    nn.ReLU(),
    nn.Conv1d(32, 32, 3, dilation=2),
    nn.BatchNorm1d(32),
    nn.ReLU(),
    nn.AdaptiveMaxPool1d(1),
    nn.Flatten(),
    nn.Linear(32, 4),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(5):
    model.train()
    for batch in torch.randperm(1280).split(64):
        loss = criterion(model(features[batch]), y[batch])
        if fixed:
            optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()
model.eval()
with torch.no_grad():
    print("RESULT accuracy", float((model(features[1280:]).argmax(1) == y[1280:]).float().mean()))
