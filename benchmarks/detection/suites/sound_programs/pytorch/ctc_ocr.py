import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32)
Y = torch.tensor(d.target)


def make(n, lo, hi):
    i = torch.randint(lo, hi, (n, 3))
    return X[i].permute(0, 2, 1, 3).reshape(n, 1, 8, 24), Y[i] + 1


class CRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d((2, 1)),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.rnn = nn.GRU(64, 48, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(96, 11)

    def forward(self, x):
        f = self.cnn(x)
        f = f.permute(0, 3, 1, 2).flatten(2)
        o, _ = self.rnn(f)
        return self.fc(o).log_softmax(-1).transpose(0, 1)


a, t = make(2000, 0, 1400)
va, vt = make(200, 1400, 1797)
m = CRNN()
opt = torch.optim.Adam(m.parameters(), lr=3e-3)
ctc = nn.CTCLoss(zero_infinity=True)


def loss(o, t):
    return ctc(o, t, torch.full((len(t),), o.size(0)), torch.full((len(t),), 3))


for e in range(8):
    m.train()
    p = torch.randperm(2000)
    s = 0
    for i in range(0, 2000, 50):
        q = p[i : i + 50]
        l = loss(m(a[q]), t[q])
        opt.zero_grad()
        l.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 5.0)
        opt.step()
        s += l.item()
    m.eval()
    with torch.no_grad():
        print(e, s / 40, loss(m(va), vt).item())
