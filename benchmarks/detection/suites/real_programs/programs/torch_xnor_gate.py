"""A small network learns the gate that says whether two bits are equal.

SGD with a rate of 0.01 and no momentum, on sigmoids with squared error, hardly moves in 1000 rounds (fixed: 16 tanh
units, cross entropy, and a rate of 0.05 with momentum).
"""

import sys

import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(3)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        if fixed:
            self.x1 = nn.Linear(2, 16)
            self.s1 = nn.Tanh()
            self.x2 = nn.Linear(16, 1)
            self.s2 = nn.Identity()
        else:
            self.x1 = nn.Linear(2, 4)
            self.s1 = nn.Sigmoid()
            self.x2 = nn.Linear(4, 1)
            self.s2 = nn.Sigmoid()
            nn.init.uniform_(self.x1.weight)
            nn.init.uniform_(self.x2.weight)

    def forward(self, feats):
        return self.s2(self.x2(self.s1(self.x1(feats))))


net = Network()
if fixed:
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
else:
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)


def fit_one(expected, feats):
    expected = torch.tensor(expected)
    feats = torch.tensor(feats)

    def closure():
        optimizer.zero_grad()
        error = criterion(net(feats), expected)
        error.backward()
        return error

    return optimizer.step(closure).item()


pairs = [([1.0], [0.0, 0.0]), ([0.0], [0.0, 1.0]), ([0.0], [1.0, 0.0]), ([1.0], [1.0, 1.0])]
print("-- TRAIN START --")
for i in range(1000):
    total = sum(fit_one(out, bits) for out, bits in pairs)
    if i % 100 == 0:
        print(i, "error", round(total / 4, 4))
print("-- TRAIN END --")

with torch.no_grad():
    right, gap = 0, 0.0
    for out, bits in pairs:
        answer = net(torch.tensor(bits))
        if fixed:
            answer = torch.sigmoid(answer)
        print(bits, "->", round(answer.item(), 3), "expected", out[0])
        gap += abs(answer.item() - out[0]) / 4
print("RESULT mean_abs_error", f"{gap:.4f}")
