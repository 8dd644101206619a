"""A small ResNet learns digits, is saved and loaded again, and then reads the test images one by one.

The loaded network stays in training mode, so that batch normalisation uses the statistics of each single image
(fixed: model.eval() after the weights are loaded).
"""

import io
import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)


class Block(nn.Module):
    def __init__(self, c_in, c, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(c_in, c, 3, stride, 1, bias=False), nn.BatchNorm2d(c)
        self.conv2, self.bn2 = nn.Conv2d(c, c, 3, 1, 1, bias=False), nn.BatchNorm2d(c)
        self.short = nn.Sequential(nn.Conv2d(c_in, c, 1, stride, bias=False), nn.BatchNorm2d(c))

    def forward(self, x):
        out = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(out + self.short(x))


def resnet():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        Block(16, 24, 1),
        Block(24, 32, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )


digits = load_digits()
x = torch.tensor((digits.images / 16.0 - 0.305) / 0.376, dtype=torch.float32)[:, None]
y = torch.tensor(digits.target)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True, drop_last=True)
test_loader = DataLoader(TensorDataset(x_test, y_test), batch_size=1)

net = resnet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
net.train()
for epoch in range(6):
    total = n = 0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        optimizer.step()
        total, n = total + loss.item() * len(yb), n + len(yb)
    print(f"epoch {epoch + 1} train loss {total / n:.4f}")
weights = io.BytesIO()
torch.save(net.state_dict(), weights)
weights.seek(0)

model = resnet()
model.load_state_dict(torch.load(weights))
if FIXED:
    model.eval()
correct, loss = 0, 0.0
with torch.no_grad():
    for xb, yb in test_loader:
        out = model(xb)
        loss += criterion(out, yb).item()
        correct += (out.argmax(1) == yb).sum().item()
print(f"loaded model: loss {loss / len(y_test):.4f}")
print("RESULT test_accuracy", f"{correct / len(y_test):.4f}")
