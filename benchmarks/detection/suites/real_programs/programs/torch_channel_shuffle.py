"""A small ShuffleNet with grouped convolutions and batch normalisation learns pictures.

Then a script infers one picture at a time. The network is still in training mode there, so each picture is normalised
by statistics of its own (fixed: ``net.eval()`` before inference).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)


def channel_shuffle(x, groups):
    n, c, h, w = x.shape
    return x.view(n, groups, c // groups, h, w).transpose(1, 2).reshape(n, c, h, w)


class ShuffleUnit(nn.Module):
    def __init__(self, cin, cout, groups=4, stride=1):
        super().__init__()
        self.groups, self.stride = groups, stride
        mid = cout // 4
        branch = cout - cin if stride == 2 else cout
        self.compress = nn.Sequential(nn.Conv2d(cin, mid, 1, groups=groups, bias=False), nn.BatchNorm2d(mid), nn.ReLU())
        self.depthwise = nn.Sequential(nn.Conv2d(mid, mid, 3, stride, 1, groups=mid, bias=False), nn.BatchNorm2d(mid))
        self.expand = nn.Sequential(nn.Conv2d(mid, branch, 1, groups=groups, bias=False), nn.BatchNorm2d(branch))
        self.pool = nn.AvgPool2d(3, 2, 1)

    def forward(self, x):
        out = channel_shuffle(self.compress(x), self.groups)
        out = self.expand(self.depthwise(out))
        if self.stride == 2:
            return torch.relu(torch.cat([self.pool(x), out], 1))
        return torch.relu(x + out)


class ShuffleNet(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.stage2 = nn.Sequential(ShuffleUnit(16, 64, stride=2), ShuffleUnit(64, 64))
        self.stage3 = nn.Sequential(ShuffleUnit(64, 128, stride=2), ShuffleUnit(128, 128))
        self.fc = nn.Linear(128, num_classes)

    def forward(self, x):
        x = self.stage3(self.stage2(self.stem(x)))
        return self.fc(x.mean((2, 3)))


X, y = load_digits(return_X_y=True)
X = (X.reshape(-1, 1, 8, 8) / 16).astype("float32")
X = (X - X.mean()) / X.std()
x_train, x_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
x_train, x_test = torch.tensor(x_train), torch.tensor(x_test)
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)

net = ShuffleNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=4e-5)

net.train()
for epoch in range(12):
    order = torch.randperm(len(x_train))
    total = 0.0
    for i in range(0, len(order) - 31, 32):
        idx = order[i : i + 32]
        optimizer.zero_grad()
        loss = criterion(net(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / (len(order) // 32):.4f}")


def infer(net, image):
    with torch.no_grad():
        scores = torch.softmax(net(image.unsqueeze(0)), dim=1)
    return scores.argmax(1).item()


if FIXED:
    net.eval()
hits = sum(infer(net, image) == label for image, label in zip(x_test, y_test.tolist(), strict=False))
print("RESULT accuracy", f"{(hits / len(x_test)):.4f}")
