import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32)[:, None]
Y = torch.tensor(d.target)
by = [(Y[:1500] == k).nonzero()[:, 0] for k in range(10)]
net = nn.Sequential(
    nn.Conv2d(1, 16, 3), nn.PReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(144, 64), nn.PReLU(), nn.Linear(64, 8)
)
crit = nn.TripletMarginLoss(margin=1.0)
opt = torch.optim.Adam(net.parameters(), 1e-3)
for e in range(4):
    s = 0
    for _ in range(40):
        k = torch.randint(0, 10, (64,))
        o = (k + torch.randint(1, 10, (64,))) % 10
        pick = lambda c: X[torch.stack([by[j][torch.randint(len(by[j]), ())] for j in c.tolist()])]
        l = crit(net(pick(k)), net(pick(k)), net(pick(o)))
        opt.zero_grad()
        l.backward()
        opt.step()
        s += l.item()
    print(e, s / 40)
