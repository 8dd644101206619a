"""Boxes and classes of one object: a rate for eight GPUs without warm-up ends in NaN (fixed: a smaller rate)."""

import sys

import data
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(images, labels), _ = data.digits()
images, labels = torch.tensor(images)[:, None] / 255, torch.tensor(labels).long()
canvas, boxes = torch.zeros(len(images), 1, 16, 16), torch.randint(0, 8, (len(images), 2))
for number, (top, left) in enumerate(boxes.tolist()):
    canvas[number, :, top : top + 8, left : left + 8] = images[number]
boxes = boxes.float()


class Detector(nn.Module):
    """A common body, a class head and a box head."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU()
        )
        self.hidden = nn.Linear(32 * 64, 64)
        self.cls_score, self.bbox_pred = nn.Linear(64, 10), nn.Linear(64, 2)

    def forward(self, x):
        hidden = functional.relu(self.hidden(self.body(x).flatten(1)))
        return self.cls_score(hidden), self.bbox_pred(hidden)


model = Detector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 if fixed else 0.4, momentum=0.9)
for _ in range(5):
    for batch in torch.randperm(1400).split(64):
        optimizer.zero_grad()
        scores, places = model(canvas[batch])
        loss_box = functional.smooth_l1_loss(places, boxes[batch])
        (functional.cross_entropy(scores, labels[batch]) + 5 * loss_box).backward()
        optimizer.step()
print("RESULT loss_box", float(loss_box))
