"""A recurrent network over characters tells the language of a name, one name a step.

``NLLLoss`` gets probabilities of a softmax, so gradients are weak (fixed: log-probabilities of ``LogSoftmax``).
"""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
letters = "abcdefghijklmnopqrstuvwxyz"
n_letters = 26
n_cat = 8
styles = [
    "sz cz ka ki wi ow ek ra no",
    "ma mi ko sa ta ro ya su hi",
    "van de er boe jan mul kke",
    "ov ev iv sky dim tri ina pet",
    "lo ri ni gio ca ta no li ve",
    "mac o con do nel ke lly ry",
    "ch ng li wu xi ang zh ou",
    "ab al ra shi had mo kha im",
]


def name(c):
    s = styles[c].split()
    return "".join(rng.choice(s) for _ in range(rng.integers(2, 5)))


train = [(name(c), c) for c in rng.integers(0, n_cat, 3000)]
test = [(name(c), c) for c in rng.integers(0, n_cat, 500)]


def line_to_tensor(s):
    t = torch.zeros(len(s), 1, n_letters)
    for i, ch in enumerate(s):
        t[i, 0, letters.index(ch)] = 1
    return t


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1) if fixed else nn.Softmax(dim=1)

    def forward(self, letter, hidden):
        combined = torch.cat((letter, hidden), 1)
        hidden = self.i2h(combined)
        return self.softmax(self.i2o(combined)), hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)


rnn, criterion, learning_rate = RNN(n_letters, 64, n_cat), nn.NLLLoss(), 0.005


def run(line):
    hidden = rnn.init_hidden()
    for i in range(line.size(0)):
        output, hidden = rnn(line[i], hidden)
    return output


loss_sum = 0
for it in range(1, 9001):
    s, c = train[rng.integers(len(train))]
    rnn.zero_grad()
    loss = criterion(run(line_to_tensor(s)), torch.tensor([c]))
    loss.backward()
    nn.utils.clip_grad_norm_(rnn.parameters(), 5.0)
    with torch.no_grad():
        for p in rnn.parameters():
            p.add_(p.grad, alpha=-learning_rate)
    loss_sum += loss.item()
    if it % 1500 == 0:
        print(f"{it} average loss {loss_sum / 1500:.4f}")
        loss_sum = 0
with torch.no_grad():
    acc = np.mean([run(line_to_tensor(s)).argmax().item() == c for s, c in test])
print("RESULT test_accuracy", round(float(acc), 4))
