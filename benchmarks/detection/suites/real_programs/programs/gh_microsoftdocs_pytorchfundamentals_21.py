"""Digits by a dense net and NLLLoss: LogSoftmax over the batch, dim 0 (fixed: over the classes)."""

import sys

import data
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, y), (test_x, test_y) = data.digits()
x, test_x = torch.tensor(x) / 255, torch.tensor(test_x) / 255
y, test_y = torch.tensor(y).long(), torch.tensor(test_y).long()
net = nn.Sequential(nn.Flatten(), nn.Linear(64, 10), nn.LogSoftmax(dim=-1 if fixed else 0))
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
loss_fn = nn.NLLLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(5):
    net.train()
    for features, labels in loader:
        optimizer.zero_grad()
        loss = loss_fn(net(features), labels)
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        loss = loss_fn(net(test_x), test_y)
print("RESULT loss", float(loss))
