"""A small segmentation network learns from the soft answers of a bigger one, pixel by pixel.

Maps with the channels first are reshaped to (pixels, classes) without a permutation, so the softmax runs over
neighbouring pixels (fixed: ``permute`` first).
"""

import sys

import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
CLASSES = 5


def make(n, seed, size=24):
    """Pictures with four kinds of coloured patches on noise, and their label maps."""
    g = torch.Generator().manual_seed(seed)
    colours = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])
    labels = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        for _ in range(4):
            k = int(torch.randint(1, CLASSES, (1,), generator=g))
            a, b = torch.randint(0, size - 8, (2,), generator=g).tolist()
            h, w = torch.randint(5, 12, (2,), generator=g).tolist()
            labels[i, a : a + h, b : b + w] = k
    pictures = colours[labels].permute(0, 3, 1, 2) + 0.5 * torch.randn(n, 3, size, size, generator=g)
    return pictures, labels


def net(width):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Conv2d(width, width, 3, padding=1),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Conv2d(width, CLASSES, 1),
    )


class CriterionPixelWise(nn.Module):
    def forward(self, preds_s, preds_t):
        count, channels, width, height = preds_s.shape
        preds_t = preds_t.detach()
        if fixed:
            preds_t = preds_t.permute(0, 2, 3, 1)
            preds_s = preds_s.permute(0, 2, 3, 1)
        soft_t = functional.softmax(preds_t.reshape(-1, channels), dim=1)
        log_s = functional.log_softmax(preds_s.reshape(-1, channels), dim=1)
        return torch.sum(-soft_t * log_s) / width / height / count


x_train, y_train = make(120, 1)
x_val, y_val = make(40, 2)


def batches(epoch, size=12):
    order = torch.randperm(len(x_train), generator=torch.Generator().manual_seed(epoch))
    for i in range(0, len(order), size):
        pick = order[i : i + size]
        yield x_train[pick], y_train[pick]


def accuracy(model):
    model.eval()
    with torch.no_grad():
        return (model(x_val).argmax(1) == y_val).float().mean().item()


teacher = net(24)
optimizer = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for epoch in range(8):
    teacher.train()
    for x, y in batches(epoch):
        optimizer.zero_grad()
        functional.cross_entropy(teacher(x), y).backward()
        optimizer.step()
print(f"teacher pixel accuracy {accuracy(teacher):.4f}")

student = net(8)
criterion_pixel = CriterionPixelWise()
optimizer = torch.optim.SGD(student.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
teacher.eval()
for epoch in range(30):
    student.train()
    total = 0.0
    for x, _ in batches(100 + epoch):
        with torch.no_grad():
            preds_t = teacher(x)
        preds_s = student(x)
        loss = criterion_pixel(preds_s, preds_t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch} pixel loss {total / 10:.4f} student accuracy {accuracy(student):.4f}")
print("RESULT pixel_accuracy", f"{accuracy(student):.4f}")
