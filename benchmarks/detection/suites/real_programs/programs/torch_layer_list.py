"""A network learns a smooth curve of one variable; its layers are made in a loop from the number given.

They are kept in a Python list, so that ``parameters()`` knows only the first layer and the optimizer never changes the
others (fixed: ``nn.ModuleList``).
"""

import sys

import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(1)

x = torch.rand(600, 1) * 4 - 2
y = torch.sin(2 * x) + 0.3 * x + 0.05 * torch.randn(600, 1)
x_train, y_train, x_test, y_test = x[:480], y[:480], x[480:], y[480:]


class Net(nn.Module):
    def __init__(self, num_layers, width=32):
        super().__init__()
        self.layer = nn.Linear(1, width)
        layers = [nn.Linear(width, width) for i in range(num_layers - 1)] + [nn.Linear(width, 1)]
        if FIXED:
            layers = nn.ModuleList(layers)
        self.list_of_layers = layers

    def forward(self, x):
        x = self.layer(x)
        for layer in self.list_of_layers:
            x = layer(torch.tanh(x))
        return x


net = Net(4)
optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
criterion = nn.MSELoss()

for epoch in range(120):
    order = torch.randperm(len(x_train))
    total = 0.0
    for start in range(0, len(x_train), 32):
        index = order[start : start + 32]
        optimizer.zero_grad()
        loss = criterion(net(x_train[index]), y_train[index])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(index)
    if epoch % 20 == 19:
        print(f"epoch {epoch + 1}: loss {total / len(x_train):.4f}")

with torch.no_grad():
    error = criterion(net(x_test), y_test).item()
print("RESULT test_mse", f"{error:.4f}")
