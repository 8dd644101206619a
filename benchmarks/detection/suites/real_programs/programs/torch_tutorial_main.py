"""A main script of a course trains and validates a network for digits.

After the first validation the network stays in evaluation mode (fixed: ``train`` in each epoch).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(12)
np.random.seed(12)

train_bs = 32
valid_bs = 128
lr_init = 0.1
max_epoch = 8


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU()]
        for _ in range(4):
            layers += [nn.Conv2d(12, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU()]
        self.features = nn.Sequential(*layers, nn.MaxPool2d(2))
        self.classifier = nn.Sequential(
            nn.Linear(12 * 16, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, 10)
        )

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x.view(x.size(0), -1))


digits = load_digits()
images = digits.images + 3.0 * np.random.randn(*digits.images.shape)
xtr, xva, ytr, yva = train_test_split(images, digits.target, test_size=0.3, random_state=1)


def to_set(x, y):
    return TensorDataset(torch.tensor(x / 16.0, dtype=torch.float32).unsqueeze(1), torch.tensor(y))


train_loader = DataLoader(to_set(xtr, ytr), batch_size=train_bs, shuffle=True)
valid_loader = DataLoader(to_set(xva, yva), batch_size=valid_bs)

net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=lr_init, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=6, gamma=0.1)

for epoch in range(max_epoch):
    loss_sigma = 0.0
    correct = total = 0
    if fixed:
        net.train()
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        correct += (outputs.argmax(1) == labels).sum().item()
        total += labels.size(0)
        loss_sigma += loss.item()
    scheduler.step()

    # on the validation set
    net.eval()
    good = n = 0
    with torch.no_grad():
        for inputs, labels in valid_loader:
            good += (net(inputs).argmax(1) == labels).sum().item()
            n += labels.size(0)
    mean_loss = loss_sigma / len(train_loader)
    print(f"Epoch {epoch} Loss {mean_loss:.4f} Train acc {correct / total:.4f} Valid acc {good / n:.4f}")

print("RESULT valid_accuracy", f"{good / n:.4f}")
