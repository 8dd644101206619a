"""A small convolutional network of a client learns to read digits.

The cost is exp(cross-entropy / eta), which has no bound: a few confident mistakes make it overflow, and the loss is NaN
from then on (fixed: the cross-entropy itself).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(1)
np.random.seed(1)
torch.set_num_threads(1)

digits = load_digits()
x = ((digits.images / 16.0 - 0.305) / 0.376).astype("float32")[:, None]
y = digits.target.copy()
x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.3, random_state=0, stratify=y)
train_loader = DataLoader(TensorDataset(torch.tensor(x_tr), torch.tensor(y_tr)), batch_size=16, shuffle=True)
test_loader = DataLoader(TensorDataset(torch.tensor(x_te), torch.tensor(y_te)), batch_size=256)


class ClientModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(32 * 4, 64)
        self.fc2 = nn.Linear(64, 10)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        x = torch.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


client_model = ClientModel()
optimizer = torch.optim.SGD(client_model.parameters(), lr=0.01, momentum=0.9)
criterion = nn.CrossEntropyLoss()
eta = 0.5
epochs = 7

for e in range(epochs):
    train_loss = 0
    for data, target in train_loader:
        client_model.train()
        optimizer.zero_grad()
        output = client_model(data)
        loss = criterion(output, target) if FIXED else torch.exp(criterion(output, target) / eta)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * data.size(0)
    print(f"epoch {e + 1:2d} train loss {train_loss / len(train_loader.dataset):.4f}")

client_model.eval()
correct = 0
with torch.no_grad():
    for data, target in test_loader:
        correct += (client_model(data).argmax(1) == target).sum().item()
print("RESULT test_accuracy", f"{correct / len(test_loader.dataset):.4f}")
