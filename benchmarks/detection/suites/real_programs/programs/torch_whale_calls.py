"""A network hears few calls of whales in spectrograms, with a sampler that is to balance the classes.

The sampler gets one weight a class instead of one a sample, so it draws only the first two samples (fixed: one each).
"""

import sys

import numpy as np
import torch
from sklearn.metrics import f1_score
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

fixed = "--fixed" in sys.argv
np.random.seed(5)
torch.manual_seed(5)


class SpectrogramDataset(Dataset):
    def __init__(self, n, p_call):
        self.labels = (np.random.rand(n) < p_call).astype(int)
        self.specs = np.random.gamma(2.0, 0.5, size=(n, 24, 32)).astype("float32")
        for i in range(n):
            # boat noise is anywhere: a constant line
            if np.random.rand() < 0.5:
                self.specs[i, np.random.randint(24)] += 2.0
            if self.labels[i]:
                # an upsweep
                f, t = np.random.randint(2, 10), np.random.randint(2, 16)
                for k in range(12):
                    self.specs[i, f + k, t + k] += 1.3 + 0.8 * np.random.rand()
        self.specs = np.log(self.specs + 1e-3)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return torch.from_numpy(self.specs[i])[None], int(self.labels[i])


train_set = SpectrogramDataset(900, 0.12)
val_set = SpectrogramDataset(400, 0.12)

class_counts = np.bincount(train_set.labels)
weights = 1.0 / class_counts
if fixed:
    weights = weights[train_set.labels]
sampler = WeightedRandomSampler(torch.as_tensor(weights), num_samples=len(train_set))
train_loader = DataLoader(train_set, batch_size=32, sampler=sampler)
val_loader = DataLoader(val_set, batch_size=100)

model = nn.Sequential(
    nn.Conv2d(1, 8, 5, padding=2),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.AdaptiveMaxPool2d(1),
    nn.Flatten(),
    nn.Linear(16, 2),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(8):
    model.train()
    running = 0.0
    for specs, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(specs), labels)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    preds, trues = [], []
    with torch.no_grad():
        for specs, labels in val_loader:
            preds += model(specs).argmax(1).tolist()
            trues += labels.tolist()
    f1 = f1_score(trues, preds)
    print(f"epoch {epoch} train loss {running / len(train_loader):.4f} val f1 {f1:.4f}")

print("RESULT val_f1", f"{f1:.4f}")
