"""A lesson on softmax: five linear layers with ReLU learn pictures of digits with ``CrossEntropyLoss``.

The last layer has a ReLU as well, so the score of a class cannot go below zero, and classes whose score is zero get no
gradient (fixed: no ReLU after the last layer).
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(11)

X, y = load_digits(return_X_y=True)
X = (X / 16.0 - 0.3) / 0.38
x_train, x_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=1, stratify=y)
x_train, x_test = torch.tensor(x_train, dtype=torch.float32), torch.tensor(x_test, dtype=torch.float32)
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(64, 520)
        self.l2 = nn.Linear(520, 320)
        self.l3 = nn.Linear(320, 240)
        self.l4 = nn.Linear(240, 120)
        self.l5 = nn.Linear(120, 10)

    def forward(self, x):
        x = functional.relu(self.l1(x))
        x = functional.relu(self.l2(x))
        x = functional.relu(self.l3(x))
        x = functional.relu(self.l4(x))
        if FIXED:
            return self.l5(x)
        return functional.relu(self.l5(x))


model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.5)


def test():
    model.eval()
    with torch.no_grad():
        return (model(x_test).argmax(1) == y_test).float().mean().item()


for epoch in range(1, 31):
    model.train()
    for data, target in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(data), target)
        loss.backward()
        optimizer.step()
    if epoch % 5 == 0:
        print(f"Train Epoch: {epoch} Loss: {loss.item():.6f} Test: {test():.3f}")

print("RESULT test_accuracy", f"{test():.4f}")
