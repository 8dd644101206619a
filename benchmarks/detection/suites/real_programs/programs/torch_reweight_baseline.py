"""The baseline of a course on reweighting tells fours from nines on a training set where fours are rare.

It is a small LeNet with SGD, and is tested on as many of either. The learning rate of 0.001 is so low that only the
share of the classes is learnt, and half of the test pictures are right (fixed: 0.1).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
hyperparameters = {"lr": 0.1 if FIXED else 1e-3, "batch_size": 50, "num_iterations": 700}

digits = load_digits()
fours, nines = (digits.images[digits.target == c] / 16.0 for c in (4, 9))


def jitter(images, n):
    chosen = images[rng.randint(len(images), size=n)]
    padded = np.pad(chosen, ((0, 0), (2, 2), (2, 2)))
    out = [np.roll(p, tuple(rng.randint(-1, 2, 2)), (0, 1)) for p in padded]
    return np.array(out) + rng.randn(n, 12, 12) * 0.05


x = np.concatenate([jitter(fours[:100], 100), jitter(nines[:100], 1300)])
x_train = torch.tensor(x, dtype=torch.float32).unsqueeze(1)
y_train = torch.tensor([0.0] * 100 + [1.0] * 1300)
x = np.concatenate([jitter(fours[100:], 200), jitter(nines[100:], 200)])
x_test = torch.tensor(x, dtype=torch.float32).unsqueeze(1)
y_test = torch.tensor([0.0] * 200 + [1.0] * 200)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 3 * 3, 84)
        self.fc2 = nn.Linear(84, 1)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.conv1(x)), 2)
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2)
        return self.fc2(functional.relu(self.fc1(x.flatten(1)))).squeeze(1)


net = LeNet()
opt = torch.optim.SGD(net.parameters(), lr=hyperparameters["lr"])

for i in range(hyperparameters["num_iterations"]):
    net.train()
    batch = torch.randint(len(x_train), (hyperparameters["batch_size"],))
    cost = functional.binary_cross_entropy_with_logits(net(x_train[batch]), y_train[batch])
    opt.zero_grad()
    cost.backward()
    opt.step()
    if i % 100 == 99:
        net.eval()
        with torch.no_grad():
            acc = ((net(x_test) > 0).float() == y_test).float().mean().item()
        print(f"iteration {i + 1} loss {cost.item():.4f} test accuracy {acc:.4f}")

print("RESULT accuracy", f"{acc:.4f}")
