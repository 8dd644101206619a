import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(0)
rng = np.random.default_rng(0)


def make(n):
    out = []
    for _ in range(n):
        y = int(rng.integers(2))
        l = int(rng.integers(8, 25))
        w = np.where(rng.random(l) < 0.25, rng.integers(1, 20, l) + 20 * y, rng.integers(41, 300, l))
        out.append((torch.tensor(w), y))
    return out


def collate(b):
    x, y = zip(*b)
    return pad_sequence(x, batch_first=True), torch.tensor([len(i) for i in x]), torch.tensor(y, dtype=torch.float)


class RNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(300, 32, padding_idx=0)
        self.rnn = nn.LSTM(32, 32, num_layers=2, bidirectional=True, dropout=0.3, batch_first=True)
        self.fc = nn.Linear(64, 1)
        self.dropout = nn.Dropout(0.3)

    def forward(self, t, l):
        p = pack_padded_sequence(self.dropout(self.embedding(t)), l, batch_first=True, enforce_sorted=False)
        _, (h, _) = self.rnn(p)
        return self.fc(self.dropout(torch.cat((h[-2], h[-1]), 1))).squeeze(1)


m = RNN()
opt = torch.optim.Adam(m.parameters(), 3e-3)
crit = nn.BCEWithLogitsLoss()
tr = DataLoader(make(1600), 64, True, collate_fn=collate)
va = DataLoader(make(300), 64, collate_fn=collate)
for e in range(5):
    m.train()
    s = 0
    for x, l, y in tr:
        opt.zero_grad()
        loss = crit(m(x, l), y)
        loss.backward()
        opt.step()
        s += loss.item()
    m.eval()
    with torch.no_grad():
        v = sum(crit(m(x, l), y).item() for x, l, y in va) / len(va)
    print(e, s / len(tr), v)
