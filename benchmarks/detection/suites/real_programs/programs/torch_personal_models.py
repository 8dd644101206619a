"""Ten clients of federated learning train small networks of their own near a common one, which is then averaged.

The learning rate of the clients is far too large, and the training loss becomes NaN (fixed: 0.05).
"""

import copy
import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(9)
rng = np.random.RandomState(9)

CLIENTS, FEATURES, CLASSES = 10, 30, 5
common = rng.randn(FEATURES, CLASSES)
clients = []
for _ in range(CLIENTS):
    own = common + 0.4 * rng.randn(FEATURES, CLASSES)
    x = rng.randn(600, FEATURES) + 0.3 * rng.randn(FEATURES)
    y = (x @ own).argmax(1)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    clients.append((x[:500], y[:500], x[500:], y[500:]))

learning_rate = 0.05 if FIXED else 10.0
lamda = 0.1
beta = 1.0


def network():
    return nn.Sequential(nn.Linear(FEATURES, 40), nn.ReLU(), nn.Linear(40, CLASSES))


server = network()
personal = [copy.deepcopy(server) for _ in range(CLIENTS)]
criterion = nn.CrossEntropyLoss()

for rnd in range(40):
    losses = []
    for c, (x, y, _, _) in enumerate(clients):
        model = personal[c]
        optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
        for _step in range(10):
            idx = torch.randint(0, len(x), (20,))
            optimizer.zero_grad()
            loss = criterion(model(x[idx]), y[idx])
            pairs = zip(model.parameters(), server.parameters(), strict=True)
            near = sum(((p - s.detach()) ** 2).sum() for p, s in pairs)
            (loss + lamda / 2 * near).backward()
            optimizer.step()
            losses.append(loss.item())
    with torch.no_grad():
        for s, *ps in zip(server.parameters(), *[m.parameters() for m in personal], strict=True):
            s.copy_((1 - beta) * s + beta * torch.stack(ps).mean(0))
    if rnd % 5 == 4:
        print("round", rnd + 1, "training loss", float(np.mean(losses)))

with torch.no_grad():
    acc = np.mean([(personal[c](x).argmax(1) == y).float().mean().item() for c, (_, _, x, y) in enumerate(clients)])
print("RESULT test_accuracy", f"{acc:.4f}")
