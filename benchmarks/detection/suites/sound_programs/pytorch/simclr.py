import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32)[:, None]
Y = torch.tensor(d.target)
enc = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(512, 64),
)
proj = nn.Sequential(nn.ReLU(), nn.Linear(64, 32))
model = nn.Sequential(enc, proj)
opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)


def aug(x):
    n = len(x)
    sh = torch.randint(-1, 2, (2,))
    x = torch.roll(x, tuple(sh.tolist()), (2, 3))
    return x * (1 + 0.2 * torch.randn(n, 1, 1, 1)) + 0.1 * torch.randn_like(x)


def nt_xent(a, b, t=0.5):
    z = F.normalize(torch.cat([a, b]), dim=1)
    s = z @ z.T / t
    n = len(a)
    s.fill_diagonal_(-1e9)
    y = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(s, y)


for e in range(5):
    p = torch.randperm(len(X))
    s = 0
    k = 0
    for i in range(0, len(X) - 127, 128):
        x = X[p[i : i + 128]]
        l = nt_xent(model(aug(x)), model(aug(x)))
        opt.zero_grad()
        l.backward()
        opt.step()
        s += l.item()
        k += 1
    print(e, s / k)
for q in enc.parameters():
    q.requires_grad = False
enc.eval()
head = nn.Linear(64, 10)
oh = torch.optim.Adam(head.parameters(), lr=1e-2)
for e in range(5):
    p = torch.randperm(1400)
    s = 0
    for i in range(0, 1400, 64):
        q = p[i : i + 64]
        with torch.no_grad():
            f = enc(X[q])
        l = F.cross_entropy(head(f), Y[q])
        oh.zero_grad()
        l.backward()
        oh.step()
        s += l.item() * len(q)
    with torch.no_grad():
        print("probe", e, s / 1400, (head(enc(X[1400:])).argmax(1) == Y[1400:]).float().mean().item())
