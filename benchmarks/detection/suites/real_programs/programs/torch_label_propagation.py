"""A network starts with few labelled digits and goes on with pseudo-labels that spread over neighbours.

The semi-supervised training is called within the branch of the first epochs, so that there is no update after them
(fixed: the call is moved out of that branch).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)
np.random.seed(0)

EPOCHS, INITIAL = 20, 5

digits = load_digits()
x = torch.from_numpy(digits.images / 16.0 - 0.3).float().unsqueeze(1)
y = torch.from_numpy(digits.target).long()
train_idx, test_idx = train_test_split(np.arange(len(y)), test_size=0.3, random_state=0, stratify=digits.target)
labeled_idx, unlabeled_idx = train_test_split(
    train_idx, train_size=60, random_state=0, stratify=digits.target[train_idx]
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32)
        self.fc1, self.fc2 = nn.Linear(128, 64), nn.Linear(64, 10)

    def features(self, x):
        x = functional.max_pool2d(functional.relu(self.bn1(self.conv1(x))), 2)
        x = functional.max_pool2d(functional.relu(self.bn2(self.conv2(x))), 2)
        return functional.relu(self.fc1(x.flatten(1)))

    def forward(self, x):
        return self.fc2(self.features(x))


def augment(batch):
    shift = np.random.randint(-1, 2, size=2)
    return torch.roll(batch, tuple(int(s) for s in shift), dims=(2, 3)) + 0.05 * torch.randn_like(batch)


def train_sup(model, optimizer):
    model.train()
    order = np.random.permutation(labeled_idx)
    total = 0.0
    for start in range(0, len(order), 20):
        batch = order[start : start + 20]
        loss = functional.cross_entropy(model(augment(x[batch])), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("  labeled loss %.4f" % (total / 3))


def train_semi(model, optimizer, pseudo, weight):
    model.train()
    order = np.random.permutation(len(unlabeled_idx))
    total, steps = 0.0, 0
    for start in range(0, len(order) - 39, 40):
        part = order[start : start + 40]
        labeled = np.random.choice(labeled_idx, 20, replace=False)
        loss = functional.cross_entropy(model(augment(x[labeled])), y[labeled])
        unlabeled = functional.cross_entropy(model(augment(x[unlabeled_idx[part]])), pseudo[part], reduction="none")
        loss = loss + (weight[part] * unlabeled).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, steps = total + loss.item(), steps + 1
    print("  labeled and pseudo-labeled loss %.4f" % (total / steps))


def propagate(model, k=10, alpha=0.9, iterations=30):
    model.eval()
    both = np.r_[labeled_idx, unlabeled_idx]
    with torch.no_grad():
        feats = functional.normalize(model.features(x[both]))
    similarity = (feats @ feats.t()).fill_diagonal_(0)
    top = similarity.topk(k, dim=1)
    w = torch.zeros_like(similarity).scatter_(1, top.indices, top.values.clamp(min=0) ** 3)
    w = w + w.t()
    scale = w.sum(1).clamp(min=1e-8).rsqrt()
    w = scale[:, None] * w * scale[None, :]
    start = torch.zeros(len(both), 10)
    start[torch.arange(len(labeled_idx)), y[labeled_idx]] = 1
    state = start.clone()
    for _ in range(iterations):
        state = alpha * (w @ state) + (1 - alpha) * start
    state = state[len(labeled_idx) :].clamp(min=1e-8)
    prob = state / state.sum(1, keepdim=True)
    certainty = 1 + (prob * prob.log()).sum(1) / np.log(10)
    return prob.argmax(1), certainty


def validate(model):
    model.eval()
    with torch.no_grad():
        return (model(x[test_idx]).argmax(1) == y[test_idx]).float().mean().item()


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, weight_decay=5e-4, nesterov=True)

for epoch in range(EPOCHS):
    if epoch >= INITIAL:
        pseudo, weight = propagate(model)
    if epoch < INITIAL:
        for _ in range(5):
            train_sup(model, optimizer)
        if not FIXED and epoch >= INITIAL:
            train_semi(model, optimizer, pseudo, weight)
    if FIXED and epoch >= INITIAL:
        train_semi(model, optimizer, pseudo, weight)
    print(f"epoch {epoch + 1}  test accuracy {validate(model):.4f}")

print("RESULT test_accuracy", f"{validate(model):.4f}")
