"""A convolutional network learns digits, is saved, and labels test images in a server that loads it.

The server leaves the loaded network in training mode, so that dropout and the statistics of each request act on the
predictions (fixed: model.eval() after the weights are loaded).
"""

import io
import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(3)
torch.set_num_threads(1)


class ImageNet10(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Dropout2d(0.25),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(32 * 16, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 10)
        )

    def forward(self, x):
        return self.classifier(self.features(x))


class Server:
    """Keeps one model in memory and answers requests of a few images."""

    def __init__(self, weights):
        self.model = ImageNet10()
        self.model.load_state_dict(torch.load(weights))
        if FIXED:
            self.model.eval()
        print("weights loaded successfully")

    def predict(self, images):
        with torch.no_grad():
            return self.model(images).argmax(1)


def evaluate(model, loader):
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return hits / total


data = load_digits()
X = torch.tensor(data.images / 16.0, dtype=torch.float32).unsqueeze(1)
X = (X - 0.3) / 0.37
Y = torch.tensor(data.target)
x_tr, x_te, y_tr, y_te = train_test_split(X, Y, test_size=0.25, random_state=0, stratify=Y)
x_tr, x_va, y_tr, y_va = train_test_split(x_tr, y_tr, test_size=0.15, random_state=0, stratify=y_tr)
train_loader = DataLoader(TensorDataset(x_tr, y_tr), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(x_va, y_va), batch_size=64)

net = ImageNet10()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(15):
    net.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(y)
    print(f"epoch {epoch + 1} loss {running / len(x_tr):.4f} val acc {evaluate(net, val_loader):.4f}")

checkpoint = io.BytesIO()
torch.save(net.state_dict(), checkpoint)
checkpoint.seek(0)

server = Server(checkpoint)
correct = 0
for i in range(len(x_te)):
    correct += (server.predict(x_te[i : i + 1]) == y_te[i : i + 1]).sum().item()
print(f"test images {len(x_te)} correct {correct}")
print("RESULT test_accuracy", f"{correct / len(x_te):.4f}")
