"""A configurable fully connected head classifies features of a backbone.

Its linear layers make one linear map (fixed: activation after the intermediate linear layers).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)


class FC(nn.Module):
    def __init__(self, num_classes, feature_dim, intermediate_channels, num_layers):
        super().__init__()
        layers = []
        width = feature_dim
        for _ in range(num_layers - 1):
            layers.append(nn.Linear(width, intermediate_channels))
            if fixed:
                layers.append(nn.ReLU())
            width = intermediate_channels
        layers.append(nn.Linear(width, num_classes))
        self.classifier = nn.Sequential(*layers)

    def forward(self, features):
        return self.classifier(features)


def pooled_features(n, dim=12, classes=4):
    # pooled features of a frozen backbone: every class is made of several clusters
    centres = np.random.default_rng(5).normal(size=(24, dim)) * 1.5
    cluster = rng.integers(0, 24, n)
    x = centres[cluster] + rng.normal(size=(n, dim)) * 0.7
    return torch.tensor(x, dtype=torch.float32), torch.tensor(cluster % classes)


x_train, y_train = pooled_features(2400)
x_val, y_val = pooled_features(800)
mean, std = x_train.mean(0), x_train.std(0)
x_train, x_val = (x_train - mean) / std, (x_val - mean) / std
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(x_val, y_val), batch_size=256)

model = FC(num_classes=4, feature_dim=12, intermediate_channels=64, num_layers=3)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(20):
    model.train()
    losses = []
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    hits = 0
    with torch.no_grad():
        for x, y in val_loader:
            hits += (model(x).argmax(1) == y).sum().item()
    acc = hits / len(x_val)
    print("epoch", epoch, f"loss {np.mean(losses):.4f}", f"val_acc {acc:.4f}")
print("RESULT val_acc", f"{acc:.4f}")
