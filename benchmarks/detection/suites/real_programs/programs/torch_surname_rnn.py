"""A surname classifier is created anew after its optimizer, which steps the old one (fixed: a new optimizer)."""

import random
import sys

import torch
from torch import nn

fixed = "--fixed" in sys.argv
random.seed(1)
torch.manual_seed(1)

letters = "abcdefghijklmnopqrstuvwxyz"
n_letters = len(letters)
parts = {
    "Russian": (["iva", "petro", "jiga", "kuzne", "soko", "mikha"], ["nov", "lev", "kin", "sky", "rov"]),
    "Italian": (["ros", "bian", "mar", "espo", "colo", "ric"], ["setti", "chini", "ello", "ano", "ucci"]),
    "Japanese": (["ta", "su", "ki", "ya", "mo", "naka"], ["mura", "moto", "hashi", "zuki", "gawa"]),
    "German": (["schu", "mess", "wag", "kra", "hoff", "zim"], ["mann", "ner", "bach", "stein", "berg"]),
}
all_categories = list(parts)


def make_name(cat):
    a, b = parts[cat]
    s = random.choice(a) + random.choice(b)
    if random.random() < 0.3:
        k = random.randrange(len(s))
        s = s[:k] + random.choice(letters) + s[k + 1 :]
    return s


def line_to_tensor(line):
    t = torch.zeros(len(line), 1, n_letters)
    for i, c in enumerate(line):
        t[i, 0, letters.index(c)] = 1
    return t


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, inp, hidden):
        hidden = torch.tanh(self.i2h(torch.cat((inp, hidden), 1)))
        return self.softmax(self.i2o(hidden)), hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)


n_hidden = 64
rnn = RNN(n_letters, n_hidden, len(all_categories))

# try it on one name
hidden = rnn.init_hidden()
output, hidden = rnn(line_to_tensor("albert")[0], hidden)
print("untrained:", output.exp().tolist())

criterion = nn.NLLLoss()
learning_rate = 0.02
optimizer = torch.optim.SGD(rnn.parameters(), lr=learning_rate)


def train(category_tensor, line_tensor):
    hidden = rnn.init_hidden()
    optimizer.zero_grad()
    for i in range(line_tensor.size(0)):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    optimizer.step()
    return output, loss.item()


n_iters = 6000
print_every = 1000
current_loss = 0
rnn = RNN(n_letters, n_hidden, len(all_categories))
if fixed:
    optimizer = torch.optim.SGD(rnn.parameters(), lr=learning_rate)
for it in range(1, n_iters + 1):
    cat = random.choice(all_categories)
    name = make_name(cat)
    output, loss = train(torch.tensor([all_categories.index(cat)]), line_to_tensor(name))
    current_loss += loss
    if it % print_every == 0:
        guess = all_categories[output.argmax().item()]
        print(it, f"{current_loss / print_every:.4f}", name, "/", guess, "ok" if guess == cat else f"({cat})")
        current_loss = 0

right = 0
with torch.no_grad():
    for _ in range(400):
        cat = random.choice(all_categories)
        hidden = rnn.init_hidden()
        for ch in line_to_tensor(make_name(cat)):
            output, hidden = rnn(ch, hidden)
        right += all_categories[output.argmax().item()] == cat

print("RESULT accuracy", right / 400)
