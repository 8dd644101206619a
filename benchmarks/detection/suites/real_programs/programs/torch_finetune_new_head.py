"""The optimizer is made of the old head, then the head is replaced (fixed: replaced before)."""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

x, y = load_digits(return_X_y=True)
x = torch.tensor(x / 16.0, dtype=torch.float32).view(-1, 1, 8, 8)
y = torch.tensor(y)
order = torch.randperm(len(x))
x, y = x[order], y[order]
x_source, y_source = x[y < 6], y[y < 6]
x_target, y_target = x[y >= 6], y[y >= 6] - 6
x_train, y_train, x_test, y_test = x_target[:300], y_target[:300], x_target[300:], y_target[300:]


class SmallCNN(nn.Module):
    """Two convolutions and a head."""

    def __init__(self, classes):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        self.fc = nn.Linear(32 * 16, classes)

    def forward(self, x):
        return self.fc(self.backbone(x))


def run_epoch(model, optimizer, x, y):
    model.train()
    losses = []
    for batch in torch.randperm(len(x)).split(32):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


model = SmallCNN(6)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(8):
    loss = run_epoch(model, optimizer, x_source, y_source)
print(f"digits 0 to 5: loss {loss:.4f} train_acc {accuracy(model, x_source, y_source):.4f}")

# digits 6 to 9: what is before the head stays as it is
for parameter in model.backbone.parameters():
    parameter.requires_grad = False
if fixed:
    model.fc = nn.Linear(32 * 16, 4)
    optimizer = torch.optim.Adam(model.fc.parameters(), lr=5e-3)
else:
    optimizer = torch.optim.Adam(model.fc.parameters(), lr=5e-3)
    model.fc = nn.Linear(32 * 16, 4)

for epoch in range(20):
    loss = run_epoch(model, optimizer, x_train, y_train)
    if (epoch + 1) % 4 == 0:
        acc = accuracy(model, x_test, y_test)
        print(f"epoch {epoch + 1} loss {loss:.4f} test_acc {acc:.4f}")

print("RESULT test_acc", acc)
