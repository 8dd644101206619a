"""Digits in one folder for each class: the parameters of the loader lack shuffling, so it goes class by class

(fixed: shuffle is true).
"""

import sys

import data
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(1)


class ImageFolder(Dataset):
    """Images, one class after the other."""

    def __init__(self, images, labels):
        self.samples = [(images[i], int(label)) for label in range(10) for i in (labels == label).nonzero()[0]]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        image, label = self.samples[index]
        return (torch.from_numpy(image).unsqueeze(0) / 255 - 0.3) / 0.38, label


train, test = (ImageFolder(*part) for part in data.digits())
dataloader_params = {"batch_size": 28}
if fixed:
    dataloader_params["shuffle"] = True
train_dataloader, valid_dataloader = DataLoader(train, **dataloader_params), DataLoader(test, batch_size=100)
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(512, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4, nesterov=True)
for epoch in range(3):
    model.train()
    for image, label in train_dataloader:
        loss = nn.functional.cross_entropy(model(image), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = sum(int((model(image).argmax(1) == label).sum()) for image, label in valid_dataloader) / len(test)
    print(epoch, accuracy)
print("RESULT accuracy", accuracy)
