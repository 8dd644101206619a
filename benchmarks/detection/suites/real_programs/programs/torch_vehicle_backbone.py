"""The trainer steps a schedule in epochs after every batch (fixed: after every epoch)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(11)
rng = np.random.default_rng(11)

# five kinds of vehicles as small RGB pictures: same body, other wheels and cabin
masks = np.zeros((5, 16, 16), dtype=np.float32)
for k in range(5):
    masks[k, 8:12, 2:14] = 1
    masks[k, 12:14, 3:5] = 0.7
    masks[k, 12:14, 11 - k : 13 - k] = 0.7
    masks[k, 4 + k // 2 : 8, 3 + k : 8 + k] = 0.5


def pictures(n):
    kind = rng.integers(0, 5, n)
    color = rng.uniform(-1, 1, (n, 3, 1, 1))
    img = color * masks[kind][:, None] + rng.normal(0, 0.2, (n, 3, 16, 16))
    return TensorDataset(torch.tensor(img, dtype=torch.float32), torch.tensor(kind))


def conv(cin, cout, stride):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())


class Classifier(nn.Module):
    """Three convolutions with batch normalisation, and a linear layer."""

    def __init__(self, n_classes):
        super().__init__()
        self.backbone = nn.Sequential(conv(3, 16, 1), conv(16, 32, 2), conv(32, 32, 2))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(32 * 16, n_classes))

    def forward(self, x):
        return self.head(self.backbone(x))


class DefaultTrainer:
    """Trains a model by epochs."""

    def __init__(self, model, criterion, optimizer, scheduler):
        self.model, self.criterion = model, criterion
        self.optimizer, self.scheduler = optimizer, scheduler

    def train(self, loader):
        self.model.train()
        epoch_loss = 0.0
        for inputs, targets in loader:
            loss = self.criterion(self.model(inputs), targets)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if not fixed:
                self.scheduler.step()
            epoch_loss += loss.item()
        if fixed:
            self.scheduler.step()
        return epoch_loss / len(loader)


train_loader = DataLoader(pictures(3000), batch_size=32, shuffle=True)
val_loader = DataLoader(pictures(500), batch_size=100)

model = Classifier(5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
scheduler = StepLR(optimizer, step_size=4, gamma=0.1)
trainer = DefaultTrainer(model, nn.CrossEntropyLoss(), optimizer, scheduler)

for epoch in range(6):
    loss = trainer.train(train_loader)
    model.eval()
    with torch.no_grad():
        hits = sum((model(x).argmax(1) == y).sum().item() for x, y in val_loader)
    print(f"epoch {epoch + 1}: loss {loss:.4f}, validation accuracy {hits / 500:.3f}")

print("RESULT val_acc", hits / 500)
