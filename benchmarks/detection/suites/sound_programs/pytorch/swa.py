import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
d = load_digits()
X = torch.tensor(d.data / 16.0, dtype=torch.float32)
Y = torch.tensor(d.target)
dl = DataLoader(TensorDataset(X[:1500], Y[:1500]), 64, shuffle=True)
m = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 10))
swa = AveragedModel(m)
opt = torch.optim.SGD(m.parameters(), 0.1, momentum=0.9)
sch = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)
ssch = SWALR(opt, swa_lr=0.05)
c = nn.CrossEntropyLoss()
for e in range(10):
    m.train()
    s = 0
    for x, y in dl:
        opt.zero_grad()
        l = c(m(x), y)
        l.backward()
        opt.step()
        s += l.item()
    if e > 6:
        swa.update_parameters(m)
        ssch.step()
    else:
        sch.step()
    print(e, s / len(dl))
update_bn(dl, swa)
swa.eval()
with torch.no_grad():
    print(c(swa(X[1500:]), Y[1500:]).item())
