"""Matching images and captions: after a validation within an epoch, the encoders stay in evaluation mode until the next

epoch (fixed: back to training mode after each validation).
"""

import sys

import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
topics = torch.randn(900, 12)
images = torch.tanh(topics @ torch.randn(12, 60)) + 0.5 * torch.randn(900, 60)
captions = torch.tanh(topics @ torch.randn(12, 40)) + 0.5 * torch.randn(900, 40)


def encoder(size):
    return nn.Sequential(nn.Linear(size, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 32))


image_encoder, text_encoder = encoder(60), encoder(40)
optimizer = torch.optim.Adam([*image_encoder.parameters(), *text_encoder.parameters()], lr=1e-3)


def scores(rows):
    image = nn.functional.normalize(image_encoder(images[rows]), dim=1)
    return image @ nn.functional.normalize(text_encoder(captions[rows]), dim=1).T


def set_training(mode):
    image_encoder.train(mode)
    text_encoder.train(mode)


def validate():
    set_training(False)
    with torch.no_grad():
        rows = torch.arange(700, 900)
        return float((scores(rows).argmax(1) == torch.arange(200)).float().mean())


step = 0
for _ in range(30):
    set_training(True)
    for rows in torch.randperm(700).split(50):
        similarity = scores(rows)
        positive = similarity.diag()[:, None]
        costs = (0.2 + similarity - positive).clamp(min=0) + (0.2 + similarity - positive.T).clamp(min=0)
        loss = (costs * (1 - torch.eye(len(rows)))).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 4 == 0:
            validate()
            if fixed:
                set_training(True)
print("RESULT recall", validate())
