"""The trainer of an architecture search computes gradients, but never calls ``step`` (fixed: it does)."""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(3)


class CandidateNet(nn.Module):
    def __init__(self, width=16, kernel=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, kernel, padding=kernel // 2), nn.BatchNorm2d(width), nn.ReLU())
        self.cell = nn.Sequential(
            nn.Conv2d(width, width * 2, 3, padding=1, stride=2), nn.BatchNorm2d(width * 2), nn.ReLU()
        )
        self.head = nn.Linear(width * 2 * 16, 10)

    def forward(self, x):
        return self.head(self.cell(self.stem(x)).flatten(1))


class ImageClassificationTrainer:
    def __init__(self, model, train_set, val_set, batch_size=64, lr=0.01, max_epochs=12):
        self.model = model
        self._criterion = nn.CrossEntropyLoss()
        self._optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self._train = DataLoader(train_set, batch_size=batch_size, shuffle=True)
        self._val = DataLoader(val_set, batch_size=256)
        self.max_epochs = max_epochs

    def training_step(self, batch):
        x, y = batch
        out = self.model(x)
        loss = self._criterion(out, y)
        return loss, (out.argmax(1) == y).float().mean().item()

    def _train_epoch(self):
        self.model.train()
        total = 0.0
        for batch in self._train:
            self._optimizer.zero_grad()
            loss, _ = self.training_step(batch)
            loss.backward()
            if fixed:
                self._optimizer.step()
            total += loss.item()
        return total / len(self._train)

    def _validate(self):
        self.model.eval()
        good = n = 0
        with torch.no_grad():
            for x, y in self._val:
                good += (self.model(x).argmax(1) == y).sum().item()
                n += len(y)
        return good / n

    def fit(self):
        for epoch in range(self.max_epochs):
            loss = self._train_epoch()
            acc = self._validate()
            print(f"epoch {epoch}: loss {loss:.4f} val acc {acc:.4f}")
        return acc


d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
X = X + 0.15 * torch.randn_like(X)
y = torch.tensor(d.target)
x_train, x_val, y_train, y_val = train_test_split(X, y, test_size=0.25, random_state=0)
trainer = ImageClassificationTrainer(CandidateNet(), TensorDataset(x_train, y_train), TensorDataset(x_val, y_val))
acc = trainer.fit()
print("RESULT val_accuracy", f"{acc:.4f}")
