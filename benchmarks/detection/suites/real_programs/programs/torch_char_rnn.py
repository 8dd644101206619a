"""A recurrent network written by hand reads short strings of commands.

Its linear layers have no nonlinearity after them, so it is linear in all its inputs (fixed: tanh after the layers).
"""

import random
import sys

import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(5)
random.seed(5)

letters = "abxn+-"
# strings of switches: 'n' flips the sense of what follows, 'a'/'b' vote; label = which side wins


def make(n):
    out = []
    while len(out) < n:
        s = "".join(random.choice(letters) for _ in range(8))
        sign, score = 1, 0
        for c in s:
            if c == "n":
                sign = -sign
            elif c in "a+":
                score += sign
            elif c in "b-":
                score -= sign
        if score == 0:
            continue
        label = int(score > 0)
        if random.random() < 0.02:
            label = 1 - label
        out.append((s, label))
    return out


def to_tensor(rows):
    x = torch.zeros(8, len(rows), len(letters))
    for j, (s, _) in enumerate(rows):
        for i, c in enumerate(s):
            x[i, j, letters.index(c)] = 1
    return x, torch.tensor([label for _, label in rows])


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.o2o = nn.Linear(hidden_size + output_size, output_size)

    def forward(self, x, hidden):
        combined = torch.cat((x, hidden), 1)
        hidden = self.i2h(combined)
        output = self.i2o(combined)
        if fixed:
            hidden = torch.tanh(hidden)
            output = torch.tanh(output)
        output = self.o2o(torch.cat((hidden, output), 1))
        return output, hidden


train, val = to_tensor(make(3000)), to_tensor(make(800))
rnn = RNN(len(letters), 48, 2)
opt = torch.optim.Adam(rnn.parameters(), lr=3e-3)
crit = nn.CrossEntropyLoss()


def run(x):
    h = torch.zeros(x.size(1), rnn.hidden_size)
    for t in range(x.size(0)):
        out, h = rnn(x[t], h)
    return out


for epoch in range(30):
    perm = torch.randperm(train[0].size(1))
    total = 0.0
    for i in range(0, len(perm), 64):
        b = perm[i : i + 64]
        opt.zero_grad()
        loss = crit(run(train[0][:, b]), train[1][b])
        loss.backward()
        opt.step()
        total += loss.item() * len(b)
    with torch.no_grad():
        acc = (run(val[0]).argmax(1) == val[1]).float().mean().item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2d} loss {total / len(perm):.4f} val acc {acc:.3f}")
print("RESULT val_accuracy", f"{acc:.4f}")
