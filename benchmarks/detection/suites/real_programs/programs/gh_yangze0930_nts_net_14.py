"""A small residual network for digits: it makes a new dropout layer in each forward pass, which no mode reaches

(fixed: the layer is made once, with the others).
"""

import sys

import data
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, y), (x_test, y_test) = data.digits()
x, x_test = (torch.tensor(a).unsqueeze(1) / 255 for a in (x, x_test))
y, y_test = torch.tensor(y), torch.tensor(y_test)


class BasicBlock(nn.Module):
    """Two convolutions and what goes around them."""

    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        out = self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x)))))
        return functional.relu(out + x)


class ResNet(nn.Module):
    """Two blocks, pooling, and the classes."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 24, 3, padding=1)
        self.layer1, self.layer2 = BasicBlock(24), BasicBlock(24)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        if fixed:
            self.drop = nn.Dropout(p=0.5)
        self.fc = nn.Linear(24, 10)

    def forward(self, x):
        x = functional.max_pool2d(self.layer1(self.conv1(x)), 2)
        x = self.avgpool(self.layer2(x)).flatten(1)
        x = self.drop(x) if fixed else nn.Dropout(p=0.5)(x)
        return self.fc(x)


net = ResNet()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for epoch in range(6):
    net.train()
    for batch in torch.randperm(len(x)).split(56):
        optimizer.zero_grad()
        loss = functional.cross_entropy(net(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        logits = net(x_test)
        print(epoch, loss.item(), functional.cross_entropy(logits, y_test).item())
print("RESULT accuracy", float((logits.argmax(1) == y_test).float().mean()))
