"""The weights of a linear layer of one's own start at zero, all units alike (fixed: it resets its parameters)."""

import math
import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(21)
MIN_VARIANCE = 1e-3


class Linear(nn.Module):
    """Linear layer that passes on the mean and the variance of its inputs."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = nn.Parameter(torch.zeros(out_features, in_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        if fixed:
            self.reset_parameters()

    def reset_parameters(self):
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        bound = 1 / math.sqrt(self.in_features)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, mean, variance):
        out_mean = functional.linear(mean, self.weight, self.bias)
        out_variance = functional.linear(variance, self.weight**2) + MIN_VARIANCE
        return out_mean, out_variance


class ReLU(nn.Module):
    """Moments of a rectified normal variable."""

    def forward(self, mean, variance):
        std = torch.sqrt(variance)
        z = mean / std
        pdf = torch.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
        cdf = 0.5 * (1 + torch.erf(z / math.sqrt(2)))
        out_mean = mean * cdf + std * pdf
        out_variance = (mean**2 + variance) * cdf + mean * std * pdf - out_mean**2
        return out_mean, out_variance.clamp_min(0) + MIN_VARIANCE


class UncertainNet(nn.Module):
    """Three linear layers, from inputs with noise."""

    def __init__(self, noise=0.01):
        super().__init__()
        self.noise = noise
        self.fc1, self.fc2, self.fc3 = Linear(64, 64), Linear(64, 32), Linear(32, 10)
        self.act = ReLU()

    def forward(self, x):
        m, v = x, torch.full_like(x, self.noise)
        m, v = self.act(*self.fc1(m, v))
        m, v = self.act(*self.fc2(m, v))
        return self.fc3(m, v)


digits = load_digits()
x = (digits.data / 16).astype(np.float32)
x_train, x_test, y_train, y_test = train_test_split(x, digits.target, test_size=0.3, random_state=21)
center = x_train.mean(0)
x_train, x_test = torch.tensor(x_train - center), torch.tensor(x_test - center)
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)

model = UncertainNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)

for epoch in range(12):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x_train)).split(64):
        mean, variance = model(x_train[idx])
        loss = functional.cross_entropy(mean, y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 4 == 3:
        model.eval()
        with torch.no_grad():
            mean, variance = model(x_test)
        accuracy = (mean.argmax(1) == y_test).float().mean().item()
        test = f"test accuracy {accuracy:.3f}, mean output std {variance.sqrt().mean().item():.3f}"
        print(f"epoch {epoch + 1}: loss {total / len(x_train):.4f}, {test}")

print("RESULT test_acc", accuracy)
