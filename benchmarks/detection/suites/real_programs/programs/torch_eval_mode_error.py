"""One batch normalisation serves three places, and its moving averages fit none of them (fixed: one for each)."""

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
train_loader = DataLoader(TensorDataset(images[tr], labels[tr]), batch_size=64, shuffle=True)


class Net(nn.Module):
    """Three convolutions with batch normalisation, and a linear layer."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 16, 3, padding=1)
        self.conv3 = nn.Conv2d(16, 16, 3, padding=1)
        if fixed:
            self.bn1, self.bn2, self.bn3 = (nn.BatchNorm2d(16) for _ in range(3))
        else:
            self.bn = nn.BatchNorm2d(16)
        self.fc = nn.Linear(16 * 2 * 2, 10)

    def forward(self, x):
        bn1, bn2, bn3 = (self.bn1, self.bn2, self.bn3) if fixed else (self.bn, self.bn, self.bn)
        x = functional.max_pool2d(functional.relu(bn1(self.conv1(x))), 2)
        x = functional.relu(bn2(self.conv2(x)))
        x = functional.max_pool2d(functional.relu(bn3(self.conv3(x))), 2)
        return self.fc(x.flatten(1))


model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(15):
    model.train()
    loss_sum = correct = 0
    for x, y in train_loader:
        optimizer.zero_grad()
        out = model(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * len(y)
        correct += (out.argmax(1) == y).sum().item()

    model.eval()
    with torch.no_grad():
        out = model(images[te])
        val_loss = criterion(out, labels[te]).item()
        val_acc = (out.argmax(1) == labels[te]).float().mean().item()
    train = f"train loss {loss_sum / len(tr):.3f} acc {correct / len(tr):.3f}"
    print(f"epoch {epoch} {train} | eval loss {val_loss:.3f} acc {val_acc:.3f}")

print("RESULT val_acc", val_acc)
