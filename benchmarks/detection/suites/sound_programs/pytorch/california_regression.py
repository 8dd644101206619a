import torch
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
d = load_diabetes()
a, b, c, e = train_test_split(d.data, d.target, random_state=0)
sx, sy = StandardScaler().fit(a), StandardScaler().fit(c[:, None])
T = lambda z: torch.tensor(z, dtype=torch.float32)
tr = DataLoader(TensorDataset(T(sx.transform(a)), T(sy.transform(c[:, None]))), batch_size=32, shuffle=True)
xv, yv = T(sx.transform(b)), T(sy.transform(e[:, None]))
m = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(m.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-3)
crit = nn.HuberLoss()
best = 1e9
wait = 0
for ep in range(60):
    m.train()
    for x, y in tr:
        opt.zero_grad()
        l = crit(m(x), y)
        l.backward()
        opt.step()
    m.eval()
    with torch.no_grad():
        v = crit(m(xv), yv).item()
    print(ep, l.item(), v)
    if v < best - 1e-4:
        best, wait = v, 0
    else:
        wait += 1
    if wait > 8:
        break
