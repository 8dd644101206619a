import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(123)


class Net(nn.Module):
    def __init__(self, up):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 32, 5, padding=2)
        self.conv2 = nn.Conv2d(32, 32, 3, padding=1)
        self.conv3 = nn.Conv2d(32, 16, 3, padding=1)
        self.conv4 = nn.Conv2d(16, up**2, 3, padding=1)
        self.ps = nn.PixelShuffle(up)
        for c in (self.conv1, self.conv2, self.conv3):
            nn.init.orthogonal_(c.weight, nn.init.calculate_gain("relu"))
        nn.init.orthogonal_(self.conv4.weight)

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        return self.ps(self.conv4(x))


y = torch.tensor(load_digits().images / 16.0, dtype=torch.float32)[:, None]
x = nn.functional.avg_pool2d(y, 2)
tr = DataLoader(TensorDataset(x[:1500], y[:1500]), batch_size=32, shuffle=True)
te = DataLoader(TensorDataset(x[1500:], y[1500:]), batch_size=100)
m = Net(2)
opt = torch.optim.Adam(m.parameters(), lr=0.001)
c = nn.MSELoss()
for e in range(6):
    m.train()
    s = 0
    for a, b in tr:
        opt.zero_grad()
        l = c(m(a), b)
        s += l.item()
        l.backward()
        opt.step()
    m.eval()
    with torch.no_grad():
        v = sum(c(m(a), b).item() for a, b in te) / len(te)
    print(e, s / len(tr), v)
