"""A multilayer perceptron returns the square of any number between -2 and 2.

There is no activation between the layers, so the perceptron can only draw a straight line y = a*x + b (fixed: a tanh
after each hidden layer).
"""

import sys

import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden1 = nn.Linear(1, 20)
        self.hidden2 = nn.Linear(20, 20)
        self.output = nn.Linear(20, 1)

    def forward(self, x):
        x = self.hidden1(x)
        if FIXED:
            x = torch.tanh(x)
        x = self.hidden2(x)
        if FIXED:
            x = torch.tanh(x)
        return self.output(x)


x = torch.linspace(-2, 2, 201).unsqueeze(1)
y = x**2
x_test = torch.rand(100, 1) * 4 - 2
y_test = x_test**2

model = MLP()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(800):
    out = model(x)
    loss = criterion(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (epoch + 1) % 100 == 0:
        print(f"epoch {epoch + 1}, loss {loss.item():.5f}")

with torch.no_grad():
    error = (model(x_test) - y_test).pow(2).mean().sqrt().item()
print("RESULT test_rmse", f"{error:.4f}")
