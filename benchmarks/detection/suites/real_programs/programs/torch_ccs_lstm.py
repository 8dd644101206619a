"""An LSTM predicts the collisional cross section of peptides from their sequence.

A ReLU after the last layer starts below 0 and answers 0 for ever (fixed: no ReLU after the last linear layer).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
np.random.seed(2)
torch.manual_seed(36)

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
MAXLEN = 20
size = np.random.RandomState(7).uniform(0.5, 1.6, len(RESIDUES))


def make_peptides(n):
    sequences = np.zeros((n, MAXLEN), dtype=np.int64)
    y = np.zeros(n, dtype=np.float32)
    for i in range(n):
        length = np.random.randint(7, MAXLEN + 1)
        seq = np.random.randint(0, len(RESIDUES), length)
        sequences[i, :length] = seq + 1
        volume = size[seq].sum()
        charge = 1 + np.isin(seq, [6, 8, 14]).sum()
        y[i] = 150 + 18 * volume + 25 * min(charge, 4) + np.random.normal(0, 8)
    return sequences, y


sequences, y = make_peptides(2400)
ccs_min, ccs_max = y.min(), y.max()
y = (y - ccs_min) / (ccs_max - ccs_min)
X_train, y_train = torch.tensor(sequences[:2000]), torch.tensor(y[:2000])
X_val, y_val = torch.tensor(sequences[2000:]), torch.tensor(y[2000:])
loader = DataLoader(TensorDataset(X_train, y_train), batch_size=64, shuffle=True)


class CCSNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(len(RESIDUES) + 1, 16, padding_idx=0)
        self.lstm = nn.LSTM(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        hidden_state, _ = self.lstm(self.emb(x))
        hidden_state = self.out(hidden_state[:, -1])
        if not fixed:
            hidden_state = torch.relu(hidden_state)
        return hidden_state.squeeze(1)


net = CCSNet()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
criterion = nn.MSELoss()
for epoch in range(15):
    net.train()
    total = 0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    net.eval()
    with torch.no_grad():
        pred = net(X_val)
        val = criterion(pred, y_val).item()
    print(f"epoch {epoch} train {total / len(X_train):.5f} val {val:.5f} pred std {pred.std():.4f}")
r2 = 1 - val / y_val.var(unbiased=False).item()
print("RESULT val_r2", f"{r2:.4f}")
