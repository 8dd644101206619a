"""A small VGG with batch normalisation learns ten kinds of colour pictures in a lab of a course, trained by RMSprop.

``zero_grad`` stands at the top of the training function and not in its loop, so that gradients add up over the batches
of an epoch (fixed: in the loop, before each backward pass).
"""

import sys
import types

import numpy as np
import torch
from torch import nn, optim

FIXED = "--fixed" in sys.argv
torch.manual_seed(123)
rng = np.random.default_rng(123)

args = types.SimpleNamespace(
    model_code="VGG5",
    in_channels=3,
    out_dim=10,
    act="relu",
    use_bn=True,
    l2=1e-5,
    lr=0.0015,
    epoch=6,
    train_batch_size=16,
    test_batch_size=256,
)

cfg = {"VGG5": [16, "M", 32, "M", 64, "M"]}


def make_pictures(n):
    yy, xx = np.mgrid[0:16, 0:16] / 16.0
    kinds = []
    gen = np.random.default_rng(7)
    for _ in range(10):
        waves = [
            np.sin(2 * np.pi * (gen.uniform(0.5, 3) * xx + gen.uniform(0.5, 3) * yy) + gen.uniform(0, 6.28))
            for _ in range(3)
        ]
        kinds.append(np.stack(waves))
    labels = rng.integers(0, 10, n)
    pics = np.empty((n, 3, 16, 16), np.float32)
    for i, k in enumerate(labels):
        dy, dx = rng.integers(-2, 3, 2)
        pics[i] = np.roll(kinds[k], (dy, dx), (1, 2)) * rng.uniform(0.3, 1.0)
    pics += rng.normal(0, 1.0, pics.shape)
    pics = np.clip(pics / 6 + 0.5, 0, 1)
    return torch.tensor((pics - 0.5) / 0.5, dtype=torch.float32), torch.tensor(labels)


dataset = torch.utils.data.TensorDataset(*make_pictures(2500))
trainset, valset = torch.utils.data.random_split(dataset, [2000, 500])
testset = torch.utils.data.TensorDataset(*make_pictures(500))
partition = {"train": trainset, "val": valset, "test": testset}


class CNN(nn.Module):
    def __init__(self, model_code, in_channels, out_dim, act, use_bn):
        super().__init__()
        self.act = {"relu": nn.ReLU(), "tanh": nn.Tanh()}[act]
        layers = []
        for x in cfg[model_code]:
            if x == "M":
                layers += [nn.MaxPool2d(2, 2)]
            else:
                layers += [nn.Conv2d(in_channels, x, 3, padding=1)]
                if use_bn:
                    layers += [nn.BatchNorm2d(x)]
                layers += [self.act]
                in_channels = x
        self.layers = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Linear(64 * 4, 64), self.act, nn.Linear(64, out_dim))

    def forward(self, x):
        x = self.layers(x)
        return self.classifier(x.view(x.size(0), -1))


def train(net, optimizer, criterion):
    loader = torch.utils.data.DataLoader(partition["train"], batch_size=args.train_batch_size, shuffle=True)
    net.train()
    optimizer.zero_grad()
    total, correct, train_loss = 0, 0, 0.0
    for inputs, labels in loader:
        if FIXED:
            optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
        total += labels.size(0)
        correct += (outputs.argmax(1) == labels).sum().item()
    return train_loss / len(loader), correct / total


def evaluate(net, name, criterion):
    loader = torch.utils.data.DataLoader(partition[name], batch_size=args.test_batch_size)
    net.eval()
    total, correct, loss = 0, 0, 0.0
    with torch.no_grad():
        for images, labels in loader:
            outputs = net(images)
            loss += criterion(outputs, labels).item()
            total += labels.size(0)
            correct += (outputs.argmax(1) == labels).sum().item()
    return loss / len(loader), correct / total


net = CNN(args.model_code, args.in_channels, args.out_dim, args.act, args.use_bn)
criterion = nn.CrossEntropyLoss()
optimizer = optim.RMSprop(net.parameters(), lr=args.lr, weight_decay=args.l2)
for epoch in range(args.epoch):
    train_loss, train_acc = train(net, optimizer, criterion)
    val_loss, val_acc = evaluate(net, "val", criterion)
    print(
        f"Epoch {epoch}, Acc(train/val): {train_acc:.3f}/{val_acc:.3f}, "
        f"Loss(train/val): {train_loss:.3f}/{val_loss:.3f}"
    )
_, test_acc = evaluate(net, "test", criterion)
print("RESULT test_accuracy", f"{test_acc:.4f}")
