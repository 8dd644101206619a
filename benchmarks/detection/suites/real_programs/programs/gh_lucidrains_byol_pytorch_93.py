"""Self-supervised learning with a moving target: gradients are reset just before the step (fixed: before backward)."""

import copy
import sys

import data
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(images, labels), _ = data.digits()
images, labels = torch.tensor(images).flatten(1) / 255, torch.tensor(labels)


def projector():
    return nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 32))


online, predictor = projector(), nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
target = copy.deepcopy(online).requires_grad_(False)
optimizer = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=3e-4)


def augment(x):
    return (x + 0.2 * torch.randn_like(x)) * (torch.rand_like(x) > 0.2)


def distance(x, y):
    return 2 - 2 * (functional.normalize(x, dim=-1) * functional.normalize(y, dim=-1)).sum(-1)


for _ in range(15):
    for batch in torch.randperm(len(images)).split(64):
        first, second = augment(images[batch]), augment(images[batch])
        with torch.no_grad():
            goal_first, goal_second = target(first), target(second)
        loss = distance(predictor(online(first)), goal_second) + distance(predictor(online(second)), goal_first)
        if fixed:
            optimizer.zero_grad()
        loss.mean().backward()
        if not fixed:
            optimizer.zero_grad()
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(target.parameters(), online.parameters(), strict=True):
                old.lerp_(new, 0.01)
print("RESULT loss", float(loss.mean().detach()))
