"""A CNN learns pictures whose data set lists them class by class, from a ``DataLoader`` with its default settings.

The loader does not shuffle, so that each batch has only one class and the network answers with the one it saw last
(fixed: ``shuffle=True``).
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)


class Pictures(Dataset):
    """Pictures in the order of the annotation file: one variant after the other."""

    def __init__(self, images, variants):
        self.samples = sorted(zip(variants.tolist(), range(len(images)), strict=True))
        self.images = images

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        label, number = self.samples[index]
        image = torch.tensor(self.images[number], dtype=torch.float32)[None] / 16
        return (image - 0.305) / 0.376, label


digits = load_digits()
train_images, test_images, train_labels, test_labels = train_test_split(
    digits.images, digits.target, test_size=0.25, random_state=0, stratify=digits.target
)

train_loader = DataLoader(Pictures(train_images, train_labels), batch_size=32, shuffle=FIXED)
test_loader = DataLoader(Pictures(test_images, test_labels), batch_size=128)

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(128, 64),
    nn.ReLU(),
    nn.Linear(64, 10),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)

for epoch in range(10):
    model.train()
    total = 0.0
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    right = 0
    with torch.no_grad():
        for images, labels in test_loader:
            right += (model(images).argmax(1) == labels).sum().item()
    accuracy = right / len(test_images)
    print(f"epoch {epoch + 1}: train loss {total / len(train_loader):.4f}, test accuracy {accuracy:.4f}")

print("RESULT test_accuracy", f"{accuracy:.4f}")
