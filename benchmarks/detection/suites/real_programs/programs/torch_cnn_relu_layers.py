"""A classifier ends with a ReLU before ``CrossEntropyLoss``, and classes die (fixed: it ends with its last layer)."""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(4)

digits = load_digits()
images = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
labels = torch.tensor(digits.target)
tr, te = train_test_split(range(len(labels)), test_size=0.2, random_state=0, stratify=digits.target)


class DigitClassifier(nn.Module):
    """Two convolutions and two linear layers."""

    def __init__(self, n_inputs, n_out):
        super().__init__()
        self.cnn1 = nn.Conv2d(n_inputs, out_channels=16, kernel_size=3, padding=1)
        self.cnn2 = nn.Conv2d(16, out_channels=32, kernel_size=3, padding=1)
        self.fc1 = nn.Linear(32 * 2 * 2, out_features=50)
        self.fc2 = nn.Linear(50, out_features=n_out)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(kernel_size=2)

    def forward(self, x):
        out = self.relu(self.cnn1(x))
        out = self.pool(out)
        out = self.relu(self.cnn2(out))
        out = self.pool(out)
        out = self.fc1(out.view(out.size(0), -1))
        out = self.relu(out)
        out = self.fc2(out)
        return out if fixed else self.relu(out)


model = DigitClassifier(1, 10)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
criterion = nn.CrossEntropyLoss()
train_loader = DataLoader(TensorDataset(images[tr], labels[tr]), batch_size=50, shuffle=True)

for epoch in range(25):
    model.train()
    loss_sum = 0.0
    for x, y in train_loader:
        z = model(x)
        loss = criterion(z, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * len(y)
    model.eval()
    with torch.no_grad():
        accuracy = (model(images[te]).argmax(1) == labels[te]).float().mean().item()
    print(f"epoch: {epoch}, loss: {loss_sum / len(tr):.4f}, test accuracy: {accuracy:.3f}")

with torch.no_grad():
    print("predicted", torch.bincount(model(images[te]).argmax(1), minlength=10).tolist())

print("RESULT test_acc", accuracy)
