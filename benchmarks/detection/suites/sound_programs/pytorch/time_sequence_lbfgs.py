import numpy as np
import torch
from torch import nn, optim

np.random.seed(2)
torch.manual_seed(0)
T, L, N = 20, 200, 20
x = np.array(range(L)) + np.random.randint(-4 * T, 4 * T, N).reshape(N, 1)
data = torch.from_numpy(np.sin(x / 1.0 / T).astype("float64"))


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 24)
        self.linear = nn.Linear(24, 1)

    def forward(self, inp):
        out = []
        h = torch.zeros(inp.size(0), 24, dtype=torch.double)
        c = torch.zeros_like(h)
        for t in inp.split(1, dim=1):
            h, c = self.lstm1(t, (h, c))
            out.append(self.linear(h))
        return torch.cat(out, dim=1)


seq = Sequence().double()
crit = nn.MSELoss()
opt = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=10)
for i in range(5):

    def closure():
        opt.zero_grad()
        l = crit(seq(data[3:, :-1]), data[3:, 1:])
        l.backward()
        return l

    print("STEP", i, opt.step(closure).item())
    with torch.no_grad():
        print("test", crit(seq(data[:3, :-1]), data[:3, 1:]).item())
