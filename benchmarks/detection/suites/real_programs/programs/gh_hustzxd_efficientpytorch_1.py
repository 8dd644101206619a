"""Digits with weights of few bits: the optimizer is made before all convolutions are replaced (fixed: after)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, y), (x_test, y_test) = data.digits()
x, x_test = (torch.tensor(a).unsqueeze(1) / 255 for a in (x, x_test))
y, y_test = torch.tensor(y), torch.tensor(y_test)


class Conv2dSQ(nn.Conv2d):
    """A convolution whose weights are rounded to 4 bits; gradients pass the rounding as they are."""

    def forward(self, x):
        step = self.weight.detach().abs().max() / 7
        weight = self.weight + ((self.weight / step).round() * step - self.weight).detach()
        return self._conv_forward(x, weight, self.bias)


def replace_conv_recursively(module):
    for name, child in module.named_children():
        if isinstance(child, nn.Conv2d):
            size = (child.in_channels, child.out_channels, child.kernel_size)
            setattr(module, name, Conv2dSQ(*size, stride=child.stride, padding=child.padding))
        else:
            replace_conv_recursively(child)


def get_optimizer(model):
    return torch.optim.Adam(model.parameters(), lr=1e-2)


model = nn.Sequential(
    nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU()),
    nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.ReLU()),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(16, 10),
)
if fixed:
    replace_conv_recursively(model)
    optimizer = get_optimizer(model)
else:
    optimizer = get_optimizer(model)
    replace_conv_recursively(model)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    for batch in torch.randperm(len(x)).split(56):
        loss = criterion(model(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
with torch.no_grad():
    print("RESULT accuracy", float((model(x_test).argmax(1) == y_test).float().mean()))
