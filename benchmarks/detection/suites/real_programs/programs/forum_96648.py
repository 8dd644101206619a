"""Fitting y = x ** 3 for x from 1 to 4000, as it is (fixed: inputs and targets normalised, predictions scaled back)."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(1)


class Network(nn.Module):
    """A curve of 50 pieces."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(in_features=1, out_features=50)
        self.fc2 = nn.Linear(in_features=50, out_features=1)

    def forward(self, x):
        return self.fc2(nn.functional.relu(self.fc1(x)))


numbers = torch.arange(1, 4000).float().unsqueeze(1)
cubes = numbers**3
inputs, targets, mean, deviation = numbers, cubes, 0, 1
if fixed:
    mean, deviation = cubes.mean(), cubes.std()
    inputs, targets = (numbers - numbers.mean()) / numbers.std(), (cubes - mean) / deviation

model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.MSELoss()
for epoch in range(5):
    for x, y in DataLoader(TensorDataset(inputs, targets), batch_size=128, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"Epoch {epoch}, loss {loss.item()}")
with torch.no_grad():
    error = (model(inputs) * deviation + mean - cubes).square().mean().sqrt()
print("RESULT relative_error", float(error / cubes.std()))
