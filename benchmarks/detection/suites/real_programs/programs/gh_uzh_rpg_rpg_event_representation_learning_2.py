"""Class numbers follow the order of a folder listing, another one for validation (fixed: the names are sorted)."""

import sys

import data
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(train_x, train_y), (test_x, test_y) = data.digits()
names = ["anchor", "bonsai", "camera", "dolphin", "emu", "ferry", "gramophone", "helicopter", "ibis", "joshua_tree"]
folders = {
    split: {names[label]: x[y == label] for label in order}
    for split, x, y, order in (
        ("training", train_x / 255, train_y, np.random.default_rng(1).permutation(10)),
        ("validation", test_x / 255, test_y, np.random.default_rng(2).permutation(10)),
    )
}


def listdir(split):
    """Names of the subfolders, in the arbitrary order in which the file system keeps them."""
    return list(folders[split])


class NCaltech101(Dataset):
    def __init__(self, split):
        self.classes = sorted(listdir(split)) if fixed else listdir(split)
        self.files, self.labels = [], []
        for i, c in enumerate(self.classes):
            self.files += list(folders[split][c])
            self.labels += [i] * len(folders[split][c])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, idx):
        return torch.tensor(self.files[idx]).unsqueeze(0), self.labels[idx]


training_loader = DataLoader(NCaltech101("training"), batch_size=50, shuffle=True)
validation_loader = DataLoader(NCaltech101("validation"), batch_size=50)
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(512, 10),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for _ in range(4):
    model.train()
    for events, labels in training_loader:
        optimizer.zero_grad()
        criterion(model(events), labels).backward()
        optimizer.step()
    model.eval()
    correct = sum_loss = 0
    with torch.no_grad():
        for events, labels in validation_loader:
            scores = model(events)
            sum_loss += float(criterion(scores, labels))
            correct += int((scores.argmax(1) == labels).sum())
print("RESULT accuracy", correct / len(validation_loader.dataset))
