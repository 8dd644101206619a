# Variable-length words to a class. Following the answer: pad_sequence in collate_fn, pack_padded_sequence with the
# true lengths, and the last hidden state rather than out[:, -1] (which is padding).
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

random.seed(1)
torch.manual_seed(1)

STYLE = {
    0: (
        ["ro", "mar", "gio", "lu", "car", "fe", "an", "ste", "val", "bel"],
        ["ni", "ti", "li", "ra", "no", "ca"],
        ["elli", "ini", "one", "etti", "ucci"],
    ),
    1: (
        ["iva", "pet", "sok", "vol", "kuz", "mor", "pop", "bel", "nov", "mar"],
        ["no", "ko", "zo", "ni", "ra"],
        ["ov", "ev", "sky", "enko", "in"],
    ),
    2: (
        ["ta", "ya", "su", "ha", "ki", "mo", "na", "sa", "ma", "an"],
        ["ka", "mu", "shi", "ni", "to", "ra"],
        ["da", "moto", "ki", "yama", "ra"],
    ),
    3: (
        ["mac", "o'", "mc", "fitz", "kil", "bren", "don", "car", "mar", "ste"],
        ["ner", "gan", "do", "ru", "li"],
        ["ly", "ell", "nald", "nan", "son"],
    ),
}


def name(c):
    a, b, e = STYLE[c]
    w = random.choice(a) + "".join(random.choice(b) for _ in range(random.randint(0, 2)))
    if random.random() < 0.9:
        w += random.choice(e)
    return w


chars = "abcdefghijklmnopqrstuvwxyz'"
stoi = {c: i + 1 for i, c in enumerate(chars)}  # 0 is padding
words = {}
while len(words) < 2600:
    c = random.randrange(4)
    words.setdefault(name(c), c)
data = [(torch.tensor([stoi[ch] for ch in w]), c) for w, c in words.items()]
random.shuffle(data)
train, test = data[:2000], data[2000:]


def collate(batch):
    seqs, labels = zip(*batch)
    lengths = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True), lengths, torch.tensor(labels)


class NameNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(len(chars) + 1, 16, padding_idx=0)
        self.gru = nn.GRU(16, 32, batch_first=True)
        self.out = nn.Linear(32, 4)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.emb(x), lengths, batch_first=True, enforce_sorted=False)
        _, h = self.gru(packed)
        return self.out(h[-1])


model = NameNet()
opt = torch.optim.Adam(model.parameters(), lr=0.003)
loss_fn = nn.CrossEntropyLoss()
train_loader = DataLoader(train, batch_size=32, shuffle=True, collate_fn=collate)
test_loader = DataLoader(test, batch_size=128, collate_fn=collate)
for epoch in range(10):
    model.train()
    s = 0.0
    for x, l, y in train_loader:
        opt.zero_grad()
        loss = loss_fn(model(x, l), y)
        loss.backward()
        opt.step()
        s += loss.item()
    model.eval()
    with torch.no_grad():
        ok = sum((model(x, l).argmax(1) == y).sum().item() for x, l, y in test_loader)
    print("epoch", epoch + 1, "loss", s / len(train_loader), "test acc", ok / len(test))
print("RESULT test_accuracy %.4f" % (ok / len(test)))
