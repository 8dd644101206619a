"""A small convolutional network, a module written by hand, learns handwritten digits.

The last layer is created in forward(), so that each call has new random weights, which the optimizer does not know, and
the accuracy stays at about 10 % (fixed: the layer is created once, in __init__).
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)

images, labels = load_digits(return_X_y=True)
parts = train_test_split(images / 16.0, labels, test_size=0.25, random_state=0, stratify=labels)
x_train, x_test = (torch.tensor(p, dtype=torch.float32).view(-1, 1, 8, 8) for p in parts[:2])
y_train, y_test = (torch.tensor(p) for p in parts[2:])
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(x_test, y_test), batch_size=150)


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 4 * 4, 64)
        self.dropout = nn.Dropout(0.2)
        if FIXED:
            self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.conv(x)), 2)
        x = self.dropout(functional.relu(self.fc1(x.flatten(1))))
        fc2 = self.fc2 if FIXED else nn.Linear(64, 10)
        return fc2(x)


model = NeuralNetwork()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(15):
    model.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in val_loader:
            correct += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch + 1} loss {running / len(train_loader):.4f} val accuracy {correct / len(y_test):.4f}")

print("RESULT test_accuracy", f"{correct / len(y_test):.4f}")
