"""A classifier of digits has a block of selective kernel attention.

The softmax of the attention weights runs over the batch instead of the branches, so samples mix and results depend on
the size of the batch (fixed: over the branches).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
np.random.seed(0)

X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32").reshape(-1, 1, 8, 8)
X = X + 0.15 * np.random.randn(*X.shape).astype("float32")
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)


class SKAttention(nn.Module):
    def __init__(self, channel=24, kernels=(1, 3, 5), reduction=2):
        super().__init__()
        self.convs = nn.ModuleList(
            [
                nn.Sequential(nn.Conv2d(channel, channel, k, padding=k // 2), nn.BatchNorm2d(channel), nn.ReLU())
                for k in kernels
            ]
        )
        d = channel // reduction
        self.fc = nn.Linear(channel, d)
        self.fcs = nn.ModuleList([nn.Linear(d, channel) for _ in kernels])
        self.softmax = nn.Softmax(dim=0 if fixed else 1)

    def forward(self, x):
        bs, c, _, _ = x.size()
        feats = torch.stack([conv(x) for conv in self.convs], 0)  # k,bs,c,h,w
        u = feats.sum(0)
        s = u.mean(-1).mean(-1)
        z = self.fc(s)
        weights = torch.stack([fc(z).view(bs, c, 1, 1) for fc in self.fcs], 0)  # k,bs,c,1,1
        weights = self.softmax(weights)
        return (weights * feats).sum(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU())
        self.att = SKAttention(24)
        self.tail = nn.Sequential(
            nn.BatchNorm2d(24), nn.MaxPool2d(2), nn.Conv2d(24, 32, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 4, 10)
        )

    def forward(self, x):
        h = self.stem(x)
        return self.tail(h + self.att(h))


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()
train = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.tensor(Xtr), torch.tensor(ytr)), batch_size=64, shuffle=True, drop_last=True
)
test = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.tensor(Xte), torch.tensor(yte)), batch_size=1
)  # pictures come one by one later


def evaluate():
    net.eval()
    ok = n = 0
    with torch.no_grad():
        for a, b in test:
            ok += (net(a).argmax(1) == b).sum().item()
            n += len(b)
    return ok / n


for ep in range(7):
    net.train()
    run = ok = n = 0
    for a, b in train:
        opt.zero_grad()
        out = net(a)
        loss = loss_fn(out, b)
        loss.backward()
        opt.step()
        run += loss.item() * len(b)
        ok += (out.argmax(1) == b).sum().item()
        n += len(b)
    print(f"epoch {ep} loss {run / n:.3f} train acc {ok / n:.3f} test acc {evaluate():.3f}")
print("RESULT test_accuracy", f"{evaluate():.4f}")
