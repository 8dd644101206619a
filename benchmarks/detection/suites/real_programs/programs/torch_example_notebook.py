"""A notebook of examples trains a convolutional network with batch normalisation and dropout on digits.

It then goes through the test pictures a few at a time. The network is never put into evaluation mode, so dropout and
the statistics of each little batch stay active in the test (fixed: ``net.eval()`` for the test, ``net.train()`` for
training).
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)

digits = load_digits()
x = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
x_train, x_test, y_train, y_test = train_test_split(x, torch.tensor(digits.target), test_size=0.3, random_state=0)
trainloader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)
testloader = DataLoader(TensorDataset(x_test, y_test), batch_size=4)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.fc1 = nn.Linear(32 * 4, 64)
        self.bn3 = nn.BatchNorm1d(64)
        self.drop = nn.Dropout(0.5)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.bn1(self.conv1(x))), 2)
        x = functional.max_pool2d(functional.relu(self.bn2(self.conv2(x))), 2)
        x = functional.relu(self.bn3(self.fc1(x.flatten(1))))
        return self.fc2(self.drop(x))


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)


def test():
    if FIXED:
        net.eval()
    correct, total, loss = 0, 0, 0.0
    with torch.no_grad():
        for images, labels in testloader:
            outputs = net(images)
            loss += criterion(outputs, labels).item()
            correct += (outputs.argmax(1) == labels).sum().item()
            total += len(labels)
    return correct / total, loss / len(testloader)


for epoch in range(12):
    if FIXED:
        net.train()
    running_loss = 0.0
    for images, labels in trainloader:
        optimizer.zero_grad()
        loss = criterion(net(images), labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    accuracy, test_loss = test()
    running_loss /= len(trainloader)
    print(f"epoch {epoch + 1} loss {running_loss:.3f} test loss {test_loss:.3f} accuracy {accuracy:.3f}")

print("RESULT accuracy", f"{accuracy:.4f}")
