"""Exclusive or, with noise, by a perceptron of two layers that has nothing between them (fixed: a ReLU between)."""

import sys

import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
bits = torch.randint(2, (600, 2)).float()
x = bits + 0.1 * torch.randn(600, 2)
y = (bits[:, :1] != bits[:, 1:]).float()

input_dim, hidden_dim, output_dim = 2, 8, 1
if fixed:
    model = nn.Sequential(nn.Linear(input_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, output_dim), nn.Sigmoid())
else:
    model = nn.Sequential(nn.Linear(input_dim, hidden_dim), nn.Linear(hidden_dim, output_dim), nn.Sigmoid())
criterion = nn.BCELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
for epoch in range(12):
    order = torch.randperm(500)
    for start in range(0, 500, 50):
        batch = order[start : start + 50]
        optimizer.zero_grad()
        loss = criterion(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
with torch.no_grad():
    print("RESULT accuracy", float(((model(x[500:]) > 0.5) == y[500:]).float().mean()))
