# Sequence to one value: an LSTM that learns the exponentially weighted mean of its input
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(23)


def make(n, steps=15):
    x = torch.randn(n, steps, 1)
    w = 0.8 ** torch.arange(steps - 1, -1, -1, dtype=torch.float32)
    w = w / w.norm()  # target has unit variance
    return x, (x.squeeze(-1) * w).sum(1, keepdim=True)


x_train, y_train = make(2000)
x_val, y_val = make(500)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=50, shuffle=True)


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


model = Forecaster()
loss_fn = nn.MSELoss()
opt = torch.optim.Adam(model.parameters(), lr=0.005)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.88)

for epoch in range(25):
    model.train()
    running = 0.0
    for xb, yb in loader:
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        running += loss.item() * len(xb)
    sched.step()
    if epoch % 4 == 0:
        model.eval()
        with torch.no_grad():
            v = loss_fn(model(x_val), y_val).item()
        print(f"{epoch:2d} train {running / len(x_train):.4f} val {v:.4f}")

model.eval()
with torch.no_grad():
    resid = model(x_val) - y_val
print(f"validation R2: {(1 - resid.var() / y_val.var()).item():.4f}")
