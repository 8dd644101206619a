"""A classifier of penguins ends in a softmax before ``CrossEntropyLoss`` (fixed: it ends in logits)."""

import sys

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)

# culmen length, culmen depth (mm), flipper length (cm), body mass (100 g)
means = np.array([[38.8, 18.3, 19.0, 37.0], [47.5, 15.0, 21.7, 50.8], [48.8, 18.4, 19.6, 37.3]])
stds = np.array([[2.7, 1.2, 0.65, 4.6], [3.1, 1.0, 0.65, 5.0], [3.3, 1.1, 0.71, 3.8]])
counts = [450, 370, 204]
features = np.concatenate([rng.normal(m, s, (n, 4)) for m, s, n in zip(means, stds, counts, strict=True)])
labels = np.repeat([0, 1, 2], counts)

x_train, x_test, y_train, y_test = train_test_split(features, labels, test_size=0.3, random_state=0)


def loader(x, y, shuffle):
    data = TensorDataset(torch.Tensor(x).float(), torch.Tensor(y).long())
    return DataLoader(data, batch_size=20, shuffle=shuffle)


train_loader = loader(x_train, y_train, shuffle=True)
test_loader = loader(x_test, y_test, shuffle=False)


class PenguinNet(nn.Module):
    """Three linear layers."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 10)
        self.fc2 = nn.Linear(10, 10)
        self.fc3 = nn.Linear(10, 3)

    def forward(self, x):
        x = functional.relu(self.fc1(x))
        x = functional.relu(self.fc2(x))
        x = self.fc3(x)
        return x if fixed else functional.softmax(x, dim=1)


model = PenguinNet()
loss_criteria = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)


def train():
    model.train()
    total = 0
    for data, target in train_loader:
        optimizer.zero_grad()
        loss = loss_criteria(model(data), target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(train_loader)


def test():
    model.eval()
    total, correct = 0, 0
    with torch.no_grad():
        for data, target in test_loader:
            out = model(data)
            total += loss_criteria(out, target).item()
            correct += (out.argmax(1) == target).sum().item()
    return total / len(test_loader), correct / len(test_loader.dataset)


for epoch in range(1, 51):
    train_loss = train()
    test_loss, accuracy = test()
    if epoch % 10 == 0:
        print(f"epoch {epoch}: train loss {train_loss:.4f}, validation loss {test_loss:.4f}, accuracy {accuracy:.3f}")

print("RESULT test_acc", accuracy)
