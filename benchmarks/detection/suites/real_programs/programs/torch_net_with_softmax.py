"""``forward`` ends with a softmax, and ``CrossEntropyLoss`` applies one again (fixed: it returns logits)."""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

digits = load_digits()
images = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
labels = torch.tensor(digits.target)
tr, te = train_test_split(range(len(labels)), test_size=0.2, random_state=0, stratify=digits.target)
train_loader = DataLoader(TensorDataset(images[tr], labels[tr]), batch_size=32, shuffle=True)
test_loader = DataLoader(TensorDataset(images[te], labels[te]), batch_size=128)


class Net(nn.Module):
    """Two convolutions and two linear layers."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(32 * 2 * 2, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = self.pool(functional.relu(self.conv1(x)))
        x = self.pool(functional.relu(self.conv2(x)))
        x = x.view(x.size(0), -1)
        x = functional.relu(self.fc1(x))
        x = self.fc2(x)
        return x if fixed else functional.softmax(x, dim=1)


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

for epoch in range(20):
    net.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        out = net(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    net.eval()
    correct = 0
    with torch.no_grad():
        for x, y in test_loader:
            correct += (net(x).argmax(1) == y).sum().item()
    print("epoch", epoch, "loss =", total / len(tr), "test acc =", correct / len(te))

print("RESULT test_acc", correct / len(te))
