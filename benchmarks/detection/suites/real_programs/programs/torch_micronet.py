"""A tiny network with two inputs, two hidden units and one output says on which side of a curve a point lies.

It has the mean squared error and Adam. The output goes through a softmax, which is always 1 for a single unit, so
nothing is learnt (fixed: no softmax after the last layer).
"""

import sys

import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)


def dummy_data(n):
    x = torch.rand(n, 2) * 2 - 1
    t = (x[:, 1:] > 0.6 * torch.tanh(3 * x[:, :1])).float()
    return x, t


class CustomNet(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.linear1 = nn.Linear(inputs, hidden)
        self.linear2 = nn.Linear(hidden, outputs)

    def forward(self, x):
        out = self.linear2(torch.sigmoid(self.linear1(x)))
        if not FIXED:
            out = torch.softmax(out, dim=1)
        return out


x_train, t_train = dummy_data(1000)
x_test, t_test = dummy_data(100)
model = CustomNet(2, 2, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
loss_fn = nn.MSELoss()

for epoch in range(20):
    for i in torch.randperm(len(x_train)).split(4):
        optimizer.zero_grad()
        loss = loss_fn(model(x_train[i]), t_train[i])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        out = model(x_test)
        print(f"Epoch {epoch + 1} loss : {loss_fn(out, t_test).item():.6f}")

accuracy = ((out > 0.5).float() == t_test).float().mean().item()
print("RESULT accuracy", f"{accuracy:.4f}")
