"""A neck with learnable weights joins three maps of a frozen backbone, to read digits.

The fusion weights are in none of the optimizer's parameter groups and stay at 1, although one map is noise
(fixed: they are in one).
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)

digits = load_digits()
images = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
labels = torch.tensor(digits.target)
train_i, test_i = train_test_split(range(len(labels)), test_size=0.3, random_state=0, stratify=digits.target)


class Backbone(nn.Module):
    """Three maps of one size: from the picture, from a coarse view of it and from a strongly disturbed view."""

    def __init__(self):
        super().__init__()
        self.p3 = nn.Conv2d(1, 16, 3, padding=1)
        self.p4 = nn.Conv2d(1, 16, 3, padding=1)
        self.p5 = nn.Conv2d(1, 16, 3, padding=1)
        for p in self.parameters():
            p.requires_grad = False

    def forward(self, x):
        coarse = functional.interpolate(functional.avg_pool2d(x, 4), scale_factor=4, mode="nearest")
        disturbed = x + 6.0 * torch.randn(x.shape)
        return functional.relu(self.p3(x)), functional.relu(self.p4(coarse)), functional.relu(self.p5(disturbed))


class Neck(nn.Module):
    def __init__(self, channels=16, epsilon=1e-4):
        super().__init__()
        self.epsilon = epsilon
        self.p_w1 = nn.Parameter(torch.ones(3, dtype=torch.float32), requires_grad=True)
        self.conv = nn.Conv2d(channels, 32, 3, padding=1)
        self.bn = nn.BatchNorm2d(32)

    def forward(self, features):
        w = functional.relu(self.p_w1)
        w = w / (torch.sum(w, dim=0) + self.epsilon)
        x = sum(w[i] * f for i, f in enumerate(features))
        return functional.max_pool2d(functional.relu(self.bn(self.conv(x))), 2)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.neck = Neck()
        self.head = nn.Linear(32 * 16, 10)

    def forward(self, x):
        return self.head(self.neck(self.backbone(x)).flatten(1))


model = Model()
pg0, pg1, pg2 = [], [], []
for module in model.modules():
    if hasattr(module, "bias") and isinstance(module.bias, nn.Parameter) and module.bias.requires_grad:
        pg2.append(module.bias)
    if isinstance(module, nn.BatchNorm2d):
        pg0.append(module.weight)
    elif hasattr(module, "weight") and isinstance(module.weight, nn.Parameter) and module.weight.requires_grad:
        pg1.append(module.weight)
    if fixed and hasattr(module, "p_w1"):
        pg0.append(module.p_w1)
optimizer = torch.optim.Adam(pg0, lr=5e-3)
optimizer.add_param_group({"params": pg1, "weight_decay": 5e-4})
optimizer.add_param_group({"params": pg2})

x_train, y_train, x_test, y_test = images[train_i], labels[train_i], images[test_i], labels[test_i]
for epoch in range(40):
    model.train()
    order = torch.randperm(len(x_train))
    losses = []
    for i in range(0, len(order), 32):
        b = order[i : i + 32]
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x_train[b]), y_train[b])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} val_acc {acc:.4f}", model.neck.p_w1.data.tolist())
print("RESULT test_accuracy", f"{acc:.4f}")
