import torch
from sklearn.datasets import make_multilabel_classification
from sklearn.preprocessing import StandardScaler
from torch import nn

torch.manual_seed(0)
x, y = make_multilabel_classification(3000, 30, n_classes=8, n_labels=2, random_state=0)
x = torch.tensor(StandardScaler().fit_transform(x), dtype=torch.float32)
y = torch.tensor(y, dtype=torch.float32)
pw = (1 - y[:2400].mean(0)) / y[:2400].mean(0)
m = nn.Sequential(nn.Linear(30, 64), nn.BatchNorm1d(64), nn.GELU(), nn.Dropout(0.2), nn.Linear(64, 8))
crit = nn.BCEWithLogitsLoss(pos_weight=pw)
opt = torch.optim.AdamW(m.parameters(), lr=3e-3)
sch = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-2, total_steps=12 * 38)
for e in range(12):
    m.train()
    p = torch.randperm(2400)
    s = 0
    for i in range(0, 2400, 64):
        q = p[i : i + 64]
        l = crit(m(x[q]), y[q])
        opt.zero_grad()
        l.backward()
        opt.step()
        sch.step()
        s += l.item()
    m.eval()
    with torch.no_grad():
        print(e, s / 38, crit(m(x[2400:]), y[2400:]).item())
