"""A network for handwritten digits is adapted to another scanner with low-rank layers.

Both matrices of the adapters, lora_A and lora_B, start at zero. The gradient of each is a product with the other one
and stays zero, so the adapters never learn anything (fixed: lora_A is drawn from a normal distribution with the
standard deviation 1/sqrt(r)).
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)

digits = load_digits()
images = torch.tensor(digits.images / 16.0, dtype=torch.float32)
labels = torch.tensor(digits.target)
x_all, x_test, y_all, y_test = train_test_split(images, labels, test_size=0.25, random_state=0, stratify=labels)
x_base, x_new, y_base, y_new = train_test_split(x_all, y_all, test_size=0.5, random_state=1, stratify=y_all)


def first_scanner(x):
    return (x - 0.3).flatten(1) / 0.37


def second_scanner(x):
    """Turned by 90 degrees, with a slight blur."""
    x = torch.rot90(x, 1, (1, 2))
    x = 0.7 * x + 0.3 * x.roll(1, 2)
    return (x - 0.3).flatten(1) / 0.37


class LoRALayer(nn.Module):
    def __init__(self, in_features, out_features, r=8, alpha=16):
        super().__init__()
        if FIXED:
            std_dev = 1 / torch.sqrt(torch.tensor(r).float())
            self.lora_A = nn.Parameter(torch.randn((in_features, r)) * std_dev)
        else:
            self.lora_A = nn.Parameter(torch.zeros((in_features, r)))
        self.lora_B = nn.Parameter(torch.zeros((r, out_features)))
        self.scaling = alpha / r

    def forward(self, x):
        return (x @ self.lora_A @ self.lora_B) * self.scaling


class AdaptedLinear(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.lora = LoRALayer(base.in_features, base.out_features)

    def forward(self, x):
        return self.base(x) + self.lora(x)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def fit(model, x, y, lr, epochs):
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(params, lr=lr, weight_decay=0.01)
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(xb), yb)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(yb)
        print(f"  epoch {epoch + 1}: loss {total / len(y):.4f}")


base = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
print("base model")
fit(base, first_scanner(x_base), y_base, lr=1e-3, epochs=8)
print("first scanner:", accuracy(base, first_scanner(x_test), y_test))

for p in base.parameters():
    p.requires_grad = False
model = nn.Sequential(*[AdaptedLinear(m) if isinstance(m, nn.Linear) else m for m in base])

print("adapters")
fit(model, second_scanner(x_new), y_new, lr=1e-3, epochs=10)
print("RESULT accuracy_second_scanner", f"{accuracy(model, second_scanner(x_test), y_test):.4f}")
