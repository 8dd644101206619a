import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from torch import nn

torch.manual_seed(0)
d = load_breast_cancer()
accs = []
for fold, (a, b) in enumerate(KFold(4, shuffle=True, random_state=0).split(d.data)):
    sc = StandardScaler().fit(d.data[a])
    x, y = torch.tensor(sc.transform(d.data[a]), dtype=torch.float32), torch.tensor(d.target[a])
    xv, yv = torch.tensor(sc.transform(d.data[b]), dtype=torch.float32), torch.tensor(d.target[b])
    net = nn.Sequential(nn.Linear(30, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), 3e-3, weight_decay=1e-4)
    crit = nn.CrossEntropyLoss()
    for e in range(12):
        net.train()
        p = torch.randperm(len(x))
        for i in range(0, len(x), 32):
            q = p[i : i + 32]
            opt.zero_grad()
            l = crit(net(x[q]), y[q])
            l.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            o = net(xv)
            vl = crit(o, yv).item()
    accs.append((o.argmax(1) == yv).float().mean().item())
    print(fold, vl, accs[-1])
