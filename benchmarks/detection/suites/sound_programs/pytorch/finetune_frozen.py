"""Transfer learning as in the tutorial: pretrain a CNN on many classes of glyphs,
then (a) train a new head on the frozen body
(body in eval mode), (b) unfreeze with a smaller rate for the body. The target task has few labels."""

import itertools

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
d = load_digits()
img = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1)
img = F.interpolate(img, size=16, mode="bilinear", align_corners=False) / 16
img = (img - img.mean()) / img.std()
lab = torch.tensor(d.target)
src = lab < 6
xs, ys = img[src], lab[src]
xt, yt = img[~src], lab[~src] - 6
perm = torch.randperm(len(xs))
xs, ys, xsv, ysv = xs[perm[200:]], ys[perm[200:]], xs[perm[:200]], ys[perm[:200]]
perm = torch.randperm(len(xt))
few = torch.cat([perm[yt[perm] == c][:25] for c in range(4)])
rest = torch.tensor([i for i in perm.tolist() if i not in set(few.tolist())])
xf, yf, xtest, ytest = xt[few], yt[few], xt[rest], yt[rest]


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        ch = [1, 12, 24, 48]
        self.blocks = nn.Sequential(
            *[
                nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(), nn.MaxPool2d(2))
                for a, b in itertools.pairwise(ch)
            ]
        )

    def forward(self, x):
        return F.adaptive_avg_pool2d(self.blocks(x), 1).flatten(1)


def shift(x):
    dx, dy = torch.randint(-1, 2, (2,)).tolist()
    return torch.roll(x, (dx, dy), (2, 3))


def fit(body, head, opt, x, y, epochs, batch, frozen=False, sched=None, name=""):
    for e in range(epochs):
        body.train(not frozen)
        head.train()
        tot = 0
        for idx in torch.randperm(len(x)).split(batch):
            if len(idx) < 8:
                continue
            xb = shift(x[idx])
            if frozen:
                with torch.no_grad():
                    f = body(xb)
            else:
                f = body(xb)
            loss = F.cross_entropy(head(f), y[idx], label_smoothing=0.05)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        if sched is not None:
            sched.step()
        if (e + 1) % max(1, epochs // 4) == 0:
            print(name, e + 1, "loss", round(tot / len(x), 4))


@torch.no_grad()
def acc(body, head, x, y):
    body.eval()
    head.eval()
    return (head(body(x)).argmax(1) == y).float().mean().item()


body, head = Body(), nn.Linear(48, 6)
opt = torch.optim.SGD(
    list(body.parameters()) + list(head.parameters()), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4
)
fit(body, head, opt, xs, ys, 10, 32, sched=torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10), name="pretrain")
print("source accuracy", acc(body, head, xsv, ysv))

for p in body.parameters():
    p.requires_grad = False
head = nn.Linear(48, 4)
opt = torch.optim.Adam(head.parameters(), lr=1e-2)
fit(body, head, opt, xf, yf, 40, 20, frozen=True, name="head only")
print("target accuracy, frozen body", acc(body, head, xtest, ytest))

for p in body.parameters():
    p.requires_grad = True
opt = torch.optim.Adam(
    [{"params": body.parameters(), "lr": 3e-4}, {"params": head.parameters(), "lr": 3e-3}], weight_decay=1e-4
)
fit(body, head, opt, xf, yf, 30, 20, name="fine-tune")
print(f"RESULT test_accuracy {acc(body, head, xtest, ytest):.4f}")
