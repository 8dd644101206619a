"""XOR is learnt by a network with two hidden units.

From this initialisation the ReLU units end up dead for three of the four inputs, so no gradient reaches them
(fixed: leaky ReLU).
"""

import sys

import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(24)


class XOR(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 2)
        self.fc2 = nn.Linear(2, 1)

    def forward(self, x):
        h = self.fc1(x)
        x = functional.leaky_relu(h, 0.1) if fixed else torch.relu(h)
        return torch.sigmoid(self.fc2(x))


def init_weights(m):
    if type(m) is nn.Linear:
        torch.nn.init.kaiming_normal_(m.weight)
        m.bias.data.fill_(0.01)


model = XOR()
model.apply(init_weights)
EPOCH = 5000
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
inputs = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=torch.float32)
labels = torch.tensor([[0], [1], [1], [0]], dtype=torch.float32)

for epoch in range(EPOCH):
    optimizer.zero_grad()
    outputs = model(inputs)
    loss = criterion(outputs, labels)
    loss.backward()
    optimizer.step()
    if epoch % 500 == 0:
        print(f"Epoch [{epoch + 1}/{EPOCH}], Loss: {loss.item():.5f}")
print(model(inputs).detach().flatten().tolist())
print("RESULT loss", f"{loss.item():.5f}")
