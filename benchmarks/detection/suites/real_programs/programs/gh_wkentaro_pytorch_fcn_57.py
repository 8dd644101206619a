"""Fully convolutional segmentation: validated within an epoch, and left in eval mode (fixed: train() after it)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(images, _), (test, _) = data.digits(16)
images, test = torch.tensor(images[:800])[:, None] / 255, torch.tensor(test[:64])[:, None] / 255
noisy, noisy_test = (part + 0.3 * torch.randn_like(part) for part in (images, test))
masks, test_masks = (images[:, 0] > 0.4).long(), (test[:, 0] > 0.4).long()
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.Dropout2d(0.5),
    nn.Conv2d(16, 16, 3, padding=1),
    nn.ReLU(),
    nn.Dropout2d(0.5),
    nn.Conv2d(16, 2, 1),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def validate():
    model.eval()
    with torch.no_grad():
        losses = [criterion(model(noisy_test[start : start + 16]), test_masks[start : start + 16]) for start in (0, 16)]
    if fixed:
        model.train()
    return float(sum(losses))


for _ in range(2):
    model.train()
    for number, batch in enumerate(torch.randperm(800).split(16)):
        if number % 20 == 0:
            validate()
        optimizer.zero_grad()
        criterion(model(noisy[batch]), masks[batch]).backward()
        optimizer.step()
print("RESULT loss", validate())
