"""``dropout`` as a function drops in evaluation, too (fixed: ``training=self.training``)."""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

x, y = load_digits(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.2, random_state=0, stratify=y)
x_train = torch.tensor(x_train / 16.0, dtype=torch.float32)
x_test = torch.tensor(x_test / 16.0, dtype=torch.float32)
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)


class Net(nn.Module):
    """Three linear layers, with dropout between them."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 128)
        self.fc2 = nn.Linear(128, 64)
        self.fc3 = nn.Linear(64, 10)

    def forward(self, x):
        options = {"training": self.training} if fixed else {}
        x = functional.dropout(functional.relu(self.fc1(x)), p=0.5, **options)
        x = functional.dropout(functional.relu(self.fc2(x)), p=0.5, **options)
        return self.fc3(x)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)

for epoch in range(30):
    net.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = functional.cross_entropy(net(xb), yb)
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        out = net(x_test)
        test_loss = functional.cross_entropy(out, y_test).item()
        accuracy = (out.argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch} test loss {test_loss:.4f} acc {accuracy:.4f}")

net.eval()
with torch.no_grad():
    print(net(x_test[:10]).argmax(1).tolist())
    print(net(x_test[:10]).argmax(1).tolist())

print("RESULT test_acc", accuracy)
