"""Translation of short sentences, word by word from the end: Adam with the learning rate that is the default for SGD, 1

(fixed: 0.001).
"""

import argparse
import sys

import torch
from torch import nn

fixed = "--fixed" in sys.argv
parser = argparse.ArgumentParser()
parser.add_argument("-optim", default="sgd", choices=["sgd", "adam"])
parser.add_argument("-learning_rate", type=float, default=1.0)
parser.add_argument("-rnn_size", type=int, default=64)
opt = parser.parse_args(["-optim", "adam", "-learning_rate", "0.001"] if fixed else ["-optim", "adam"])
torch.manual_seed(1)
WORDS, LENGTH, BOS = 20, 4, 20


class NMTModel(nn.Module):
    """Encoder and decoder."""

    def __init__(self):
        super().__init__()
        self.embeddings_enc, self.embeddings_dec = nn.Embedding(WORDS, 64), nn.Embedding(WORDS + 1, 64)
        self.encoder = nn.LSTM(64, opt.rnn_size, batch_first=True)
        self.decoder = nn.LSTM(64, opt.rnn_size, batch_first=True)
        self.linear_in = nn.Linear(opt.rnn_size, opt.rnn_size, bias=False)
        self.generator = nn.Sequential(nn.Linear(2 * opt.rnn_size, WORDS), nn.LogSoftmax(dim=-1))

    def forward(self, src, tgt):
        memory, state = self.encoder(self.embeddings_enc(src))
        output, _ = self.decoder(self.embeddings_dec(tgt), state)
        align = torch.softmax(self.linear_in(output) @ memory.transpose(1, 2), dim=-1)
        return self.generator(torch.cat([align @ memory, output], dim=-1))


def make_optimizer(parameters):
    return {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[opt.optim](parameters, lr=opt.learning_rate)


dictionary = torch.randperm(WORDS)
source = torch.randint(WORDS, (6000, LENGTH))
target = torch.cat([torch.full((6000, 1), BOS), dictionary[source].flip(1)], dim=1)
model = NMTModel()
optimizer = make_optimizer(model.parameters())
criterion = nn.NLLLoss()


def statistics(src, tgt):
    scores = model(src, tgt[:, :-1])
    return criterion(scores.flatten(0, 1), tgt[:, 1:].flatten()), float((scores.argmax(2) == tgt[:, 1:]).float().mean())


for step in range(150):
    rows = torch.randint(5500, (64,))
    loss, accuracy = statistics(source[rows], target[rows])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5)
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1} acc {100 * accuracy:.1f} ppl {loss.exp().item():.2f}")
with torch.no_grad():
    print("RESULT accuracy", statistics(source[5500:], target[5500:])[1])
