"""Entities are classified by the sum of ten relations, each with a layer and a scale of its own, and an output layer.

The layers and parameters of the relations are kept in plain dictionaries, so the optimizer does not find them
(fixed: ``ModuleDict`` and ``ParameterDict``).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(3)
rng = np.random.RandomState(3)

num_relations, num_features, num_rel, num_classes = 10, 12, 4, 3
true_w = rng.randn(num_relations, num_features, num_classes) / np.sqrt(num_relations * num_features)
x = rng.randn(2500, num_relations, num_features)
score = np.einsum("nrf,rfc->nc", x, true_w) + 0.05 * rng.randn(2500, num_classes)
x = torch.tensor(x, dtype=torch.float32)
y = torch.tensor(score.argmax(1))
x_train, y_train, x_test, y_test = x[:2000], y[:2000], x[2000:], y[2000:]


class RelationNet(nn.Module):
    def __init__(self):
        super().__init__()
        if FIXED:
            self.scale = nn.ParameterDict()
            self.bias = nn.ParameterDict()
            self.relations = nn.ModuleDict()
        else:
            self.scale = {}
            self.bias = {}
            self.relations = {}
        for rel in range(num_relations):
            self.scale[str(rel)] = nn.Parameter(1.0 + 0.1 * torch.randn(1, num_rel))
            self.bias[str(rel)] = nn.Parameter(torch.zeros(1, num_rel))
            self.relations[str(rel)] = nn.Linear(num_features, num_rel)
        self.out = nn.Linear(num_rel, num_classes)

    def forward(self, x):
        total = 0
        for rel in range(num_relations):
            k = str(rel)
            total = total + self.relations[k](x[:, rel]) * self.scale[k] + self.bias[k]
        return self.out(torch.tanh(total))


model = RelationNet()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
criterion = nn.CrossEntropyLoss()

for epoch in range(30):
    order = torch.randperm(len(x_train))
    running = 0.0
    for i in range(0, len(x_train), 100):
        idx = order[i : i + 100]
        optimizer.zero_grad()
        loss = criterion(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 5 == 4:
        print("epoch", epoch + 1, f"loss {running / 20:.4f}")

model.eval()
with torch.no_grad():
    acc = (model(x_test).argmax(1) == y_test).float().mean().item()
print("RESULT test_accuracy", f"{acc:.4f}")
