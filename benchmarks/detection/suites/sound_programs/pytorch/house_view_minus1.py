# Regression whose target had shape (N,) while the output was (N, 1); the answer was y.view(-1, 1)
# and to scale both inputs and target.
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
rng = np.random.default_rng(3)

n = 1500
area = rng.normal(120, 35, n).clip(30, 300)
rooms = np.round(area / 30 + rng.normal(0, 0.7, n)).clip(1, 9)
age = rng.uniform(0, 80, n)
dist = rng.exponential(6, n)
price = (
    40 + 2.1 * area + 9 * rooms - 0.6 * age + 120 * np.exp(-dist / 5) + 0.004 * (age - 40) ** 2 + rng.normal(0, 18, n)
)

X = np.c_[area, rooms, age, dist].astype("float32")
y = price.astype("float32")
Xtr, Xte, ytr, yte = X[:1200], X[1200:], y[:1200], y[1200:]
mx, sx = Xtr.mean(0), Xtr.std(0)
my, sy = ytr.mean(), ytr.std()

x_train = torch.from_numpy((Xtr - mx) / sx)
y_train = torch.from_numpy((ytr - my) / sy).view(-1, 1)  # <-- the fix
x_test = torch.from_numpy((Xte - mx) / sx)

loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
loss_fn = nn.MSELoss()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)

for epoch in range(40):
    total = 0.0
    for xb, yb in loader:
        pred = net(xb)
        assert pred.shape == yb.shape
        loss = loss_fn(pred, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
    if epoch % 5 == 4:
        print(epoch + 1, total / len(x_train))

net.eval()
with torch.no_grad():
    p = net(x_test).squeeze(1).numpy() * sy + my
r2 = 1 - ((p - yte) ** 2).sum() / ((yte - yte.mean()) ** 2).sum()
print(f"RESULT test_r2 {r2:.4f}")
