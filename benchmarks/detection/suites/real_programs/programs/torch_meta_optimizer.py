"""An LSTM that proposes the updates for small least-squares problems is meta-trained over many of them.

The LSTM cells are kept in a plain Python list, so model.parameters() leaves them out and they are never trained
(fixed: nn.ModuleList).
"""

import sys

import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)

DIM, UNROLL, BATCH = 6, 20, 16


def problems(n):
    w = torch.randn(n, DIM, DIM) / DIM**0.5
    w = w * torch.logspace(-0.5, 0.5, DIM)
    return w, (w @ torch.randn(n, DIM, 1)).squeeze(-1)


def objective(w, b, theta):
    return ((w @ theta.unsqueeze(-1)).squeeze(-1) - b).pow(2).sum(1)


class MetaOptimizer(nn.Module):
    def __init__(self, num_layers=2, hidden_size=16):
        super().__init__()
        self.hidden_size = hidden_size
        self.linear1 = nn.Linear(2, hidden_size)
        self.lstms = [nn.LSTMCell(hidden_size, hidden_size) for _ in range(num_layers)]
        if FIXED:
            self.lstms = nn.ModuleList(self.lstms)
        self.linear2 = nn.Linear(hidden_size, 1)

    def start(self, n):
        return [(torch.zeros(n, self.hidden_size), torch.zeros(n, self.hidden_size)) for _ in self.lstms]

    def forward(self, grad, state):
        g = grad.reshape(-1, 1)
        x = torch.cat([torch.log(g.abs() + 1e-6) / 5, torch.sign(g)], 1)
        x = torch.tanh(self.linear1(x))
        new = []
        for cell, last in zip(self.lstms, state, strict=True):
            x, c = cell(x, last)
            new.append((x, c))
        return 0.3 * self.linear2(x).view_as(grad), new


def optimise(meta, w, b, total):
    theta = torch.zeros(len(b), DIM)
    state = meta.start(len(b) * DIM)
    losses = []
    for _ in range(total):
        residual = (w @ theta.detach().unsqueeze(-1)).squeeze(-1) - b
        grad = 2 * (w.transpose(1, 2) @ residual.unsqueeze(-1)).squeeze(-1)
        update, state = meta(grad, state)
        theta = theta + update
        losses.append(objective(w, b, theta))
    return losses


meta = MetaOptimizer()
optimizer = torch.optim.Adam(meta.parameters(), lr=3e-3)
for step in range(400):
    w, b = problems(BATCH)
    losses = optimise(meta, w, b, UNROLL)
    loss = torch.stack(losses).mean() / objective(w, b, torch.zeros(BATCH, DIM)).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(meta.parameters(), 1.0)
    optimizer.step()
    if (step + 1) % 50 == 0:
        print("meta step", step + 1, "loss", round(loss.item(), 4))

with torch.no_grad():
    torch.manual_seed(7)
    w, b = problems(400)
    final = optimise(meta, w, b, UNROLL)[-1].mean() / objective(w, b, torch.zeros(400, DIM)).mean()
print("RESULT final_loss_ratio", f"{final.item():.4f}")
