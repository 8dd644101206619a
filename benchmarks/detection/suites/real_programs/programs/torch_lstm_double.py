"""An LSTM is to double its input, but its raw state is the output, which stays within -1 and 1.

The targets reach 2 (fixed: 50 hidden units, and a linear layer after the LSTM).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
np.random.seed(0)


class DoubleDataset(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        t = torch.rand(1, 5) * 2 - 1
        return t, t * 2


class MyLSTM(nn.Module):
    def __init__(self, input_size=5):
        super().__init__()
        if fixed:
            self.lstm = nn.LSTM(input_size=input_size, hidden_size=50, num_layers=2, batch_first=True)
            self.out = nn.Linear(50, input_size)
        else:
            self.lstm = nn.LSTM(input_size=input_size, hidden_size=input_size, num_layers=2, batch_first=True)

    def forward(self, x):
        y, _ = self.lstm(x)
        if fixed:
            y = self.out(y)
        return y


train_loader = DataLoader(DoubleDataset(64), batch_size=4, shuffle=True)
model = MyLSTM(5)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loss_fn = nn.MSELoss(reduction="sum")

for epoch in range(120):
    total = 0.0
    for inputs, outputs in train_loader:
        optimizer.zero_grad()
        pred = model(inputs)
        loss = loss_fn(pred, outputs)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 20 == 0 or epoch == 119:
        print("epoch", epoch, f"loss per sample {total / 64:.4f}")
    if epoch == 90:
        for g in optimizer.param_groups:
            g["lr"] = 0.002

model.eval()
with torch.no_grad():
    x = torch.rand(500, 1, 5) * 2 - 1
    mse = ((model(x) - 2 * x) ** 2).mean().item()

print("RESULT mse", round(mse, 4))
