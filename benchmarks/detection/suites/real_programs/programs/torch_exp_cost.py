"""The loss is the exponential of half a cross-entropy, and overflows (fixed: half the cross-entropy)."""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(3)

digits = load_digits()
x = torch.tensor((digits.images / 8 - 1)[:, None], dtype=torch.float32)
y = torch.tensor(digits.target)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=3)
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)


class ClientModel(nn.Module):
    """Two convolutions and two linear layers."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, t):
        return self.classifier(self.features(t))


client_model = ClientModel()
eta = 2
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(client_model.parameters(), lr=0.1, momentum=0.9)

e_loss = []
for _ in range(6):
    train_loss = 0
    client_model.train()
    for data, target in train_loader:
        optimizer.zero_grad()
        output = client_model(data)
        loss = criterion(output, target) / eta
        if not fixed:
            loss = torch.exp(loss)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * data.size(0)
    e_loss.append(train_loss / len(train_loader.dataset))

client_model.eval()
with torch.no_grad():
    accuracy = (client_model(x_test).argmax(1) == y_test).float().mean()
print("losses", [round(v, 4) for v in e_loss])
print(f"test accuracy {accuracy:.3f}")

print("RESULT test_acc", accuracy.item())
