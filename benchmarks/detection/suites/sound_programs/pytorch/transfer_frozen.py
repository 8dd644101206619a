"""Transfer: a backbone learnt on digits 0-5 is frozen, and a new head is trained on 40 pictures of each of 6-9."""

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(13)
d = load_digits()
X = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16
X = (X - 0.305) / 0.376
y = torch.tensor(d.target)
src, tgt = y < 6, y >= 6
Xs, ys = X[src], y[src]
Xt, yt = X[tgt], y[tgt] - 6
few = torch.cat([torch.where(yt == c)[0][:40] for c in range(4)])
mask = torch.ones(len(yt), dtype=torch.bool)
mask[few] = False

backbone = nn.Sequential(
    nn.Conv2d(1, 24, 3, padding=1),
    nn.BatchNorm2d(24),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(24, 48, 3, padding=1),
    nn.BatchNorm2d(48),
    nn.ReLU(),
    nn.Flatten(),
)


def fit(model, params, X, y, epochs, lr, bs, set_mode):
    opt = torch.optim.SGD(params, lr=lr, momentum=0.9, weight_decay=1e-4)
    ce = nn.CrossEntropyLoss()
    for ep in range(epochs):
        set_mode(model)
        s = 0.0
        for idx in torch.randperm(len(X)).split(bs):
            opt.zero_grad()
            l = ce(model(X[idx]), y[idx])
            l.backward()
            opt.step()
            s += l.item() * len(idx)
        if ep % 5 == 0 or ep == epochs - 1:
            print(f"  epoch {ep} loss {s / len(X):.4f}")


print("pretraining")
pre = nn.Sequential(backbone, nn.Linear(48 * 16, 6))
fit(pre, pre.parameters(), Xs, ys, 8, 0.02, 64, lambda m: m.train())

print("fine-tuning the head")
for p in backbone.parameters():
    p.requires_grad_(False)
head = nn.Sequential(nn.Dropout(0.2), nn.Linear(48 * 16, 4))
model = nn.Sequential(backbone, head)


def head_mode(m):
    m.train()
    m[0].eval()  # keep the running statistics of the backbone


fit(model, [p for p in model.parameters() if p.requires_grad], Xt[few], yt[few], 25, 0.005, 20, head_mode)
model.eval()
with torch.no_grad():
    acc = (model(Xt[mask]).argmax(1) == yt[mask]).float().mean().item()
print("RESULT accuracy %.4f" % acc)
