"""A classifier learns pictures of digits of which some have wrong labels.

Samples of each batch that look clean are chosen for the usual loss, the others get pseudo-labels. When all samples of
a batch are chosen, the mean over no samples at all makes the loss of pseudo-labels NaN (fixed: that loss is then 0).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)

X, y = load_digits(return_X_y=True)
X = (X / 16 - 0.3).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
noisy = y_train.copy()
wrong = rng.rand(len(noisy)) < 0.1
noisy[wrong] = rng.randint(0, 10, wrong.sum())
x_train, x_test = torch.tensor(x_train), torch.tensor(x_test)
noisy, y_test = torch.tensor(noisy), torch.tensor(y_test)

net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
batch_size, warm_up, epochs = 32, 5, 25

for epoch in range(epochs):
    order = torch.randperm(len(x_train))
    total, steps = 0.0, 0
    for i in range(0, len(order), batch_size):
        idx = order[i : i + batch_size]
        inputs, labels = x_train[idx], noisy[idx]
        inputs = inputs + 0.05 * torch.randn_like(inputs)
        logits = net(inputs)
        if epoch < warm_up:
            loss = functional.cross_entropy(logits, labels)
        else:
            with torch.no_grad():
                prob = functional.softmax(logits, dim=1)
                confidence = prob.gather(1, labels[:, None]).squeeze(1)
                chosen = confidence > 0.3
                pseudo = prob.argmax(1)
            clean = chosen.float()
            unclean = 1 - clean
            loss = (functional.cross_entropy(logits, labels, reduction="none") * clean).sum() / clean.sum()
            pseudo_loss = (functional.cross_entropy(logits, pseudo, reduction="none") * unclean).sum() / unclean.sum()
            if FIXED and unclean.sum() == 0:
                pseudo_loss = torch.zeros(())
            loss = loss + 0.1 * pseudo_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, steps = total + loss.item(), steps + 1
    with torch.no_grad():
        acc = (net(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch} loss {total / steps:.4f} test accuracy {acc:.4f}")

print("RESULT accuracy", f"{acc:.4f}")
