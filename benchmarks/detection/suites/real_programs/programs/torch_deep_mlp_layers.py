"""A network with a number of hidden layers that can be chosen tells digits apart.

The hidden layers are kept in a list, where the optimizer does not find them (fixed: in a ``ModuleList``).
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
d = load_digits()
xtr, xte, ytr, yte = train_test_split(d.data / 16.0, d.target, test_size=0.25, random_state=0, stratify=d.target)
xtr, xte = torch.tensor(xtr, dtype=torch.float32), torch.tensor(xte, dtype=torch.float32)
ytr, yte = torch.tensor(ytr), torch.tensor(yte)


class Net(nn.Module):
    def __init__(self, n_in=64, hidden=32, n_hidden=4, n_out=10):
        super().__init__()
        layers = [nn.Linear(n_in, hidden)] + [nn.Linear(hidden, hidden) for _ in range(n_hidden - 1)]
        self.hidden = nn.ModuleList(layers) if fixed else layers
        self.act = nn.ReLU()
        self.out = nn.Linear(hidden, n_out)

    def forward(self, x):
        for layer in self.hidden:
            x = self.act(layer(x))
        return self.out(x)


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
loader = DataLoader(TensorDataset(xtr, ytr), batch_size=32, shuffle=True)
for epoch in range(50):
    run = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        run += loss.item()
    if epoch % 5 == 4:
        with torch.no_grad():
            acc = (net(xte).argmax(1) == yte).float().mean().item()
        print(f"epoch {epoch + 1} loss {run / len(loader):.4f} test accuracy {acc:.4f}")
print("RESULT test_accuracy", round(acc, 4))
