import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32)[:, None]
Y = torch.tensor(d.target)


class Block(nn.Module):
    def __init__(self, i, o, s):
        super().__init__()
        self.c1 = nn.Conv2d(i, o, 3, s, 1, bias=False)
        self.b1 = nn.BatchNorm2d(o)
        self.c2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.b2 = nn.BatchNorm2d(o)
        self.sc = (
            nn.Sequential()
            if i == o and s == 1
            else nn.Sequential(nn.Conv2d(i, o, 1, s, bias=False), nn.BatchNorm2d(o))
        )

    def forward(self, x):
        return torch.relu(self.b2(self.c2(torch.relu(self.b1(self.c1(x))))) + self.sc(x))


net = nn.Sequential(
    nn.Conv2d(1, 16, 3, 1, 1, bias=False),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    Block(16, 16, 1),
    Block(16, 32, 2),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(32, 10),
)
opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
crit = nn.CrossEntropyLoss(label_smoothing=0.1)
N = 8 * 23
sch = torch.optim.lr_scheduler.SequentialLR(
    opt,
    [
        torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=20),
        torch.optim.lr_scheduler.CosineAnnealingLR(opt, N - 20),
    ],
    [20],
)
for e in range(8):
    net.train()
    p = torch.randperm(1472)
    s = 0
    for i in range(0, 1472, 64):
        x, y = X[p[i : i + 64]], Y[p[i : i + 64]]
        lam = torch.distributions.Beta(0.2, 0.2).sample().item()
        q = torch.randperm(len(x))
        x = lam * x + (1 - lam) * x[q]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            o = net(x)
            l = lam * crit(o, y) + (1 - lam) * crit(o, y[q])
        opt.zero_grad()
        l.backward()
        opt.step()
        sch.step()
        s += l.item()
    net.eval()
    with torch.no_grad():
        o = net(X[1472:])
        print(e, s / 23, crit(o, Y[1472:]).item(), (o.argmax(1) == Y[1472:]).float().mean().item())
