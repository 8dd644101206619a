"""A network with a hidden layer of step units recognises handwritten digits.

The hidden layer is passed through torch.sign, whose gradient is zero everywhere, so no gradient reaches the layer
before it (fixed: the gradient is passed straight through the step to the layer before it).
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(1)

digits = load_digits()
x = torch.tensor(digits.data / 8.0 - 1.0, dtype=torch.float32)
y = torch.tensor(digits.target)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)


class BinaryNet(nn.Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.fc1 = nn.Linear(64, hidden)
        self.fc2 = nn.Linear(hidden, 10)

    def forward(self, x):
        a = torch.tanh(self.fc1(x))
        z = torch.sign(a)
        if FIXED:
            z = a + (z - a).detach()
        return self.fc2(z)


net = BinaryNet()
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(net.parameters(), lr=0.01)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)

for epoch in range(18):
    net.train()
    running = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item()
    net.eval()
    with torch.no_grad():
        acc = (net(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch}: loss {running / len(loader):.4f}  test acc {acc:.4f}")

print("RESULT test_accuracy", f"{acc:.4f}")
