"""A GRU encoder and a GRU decoder with attention write a row of words backwards.

The attention scores come from two linear maps with nothing between them, so that the part of the decoder's state is the
same for all words and cancels in the softmax. The weights are the same at every step, and many words come out wrong
(fixed: a tanh between the two maps).
"""

import sys

import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)

WORDS, LENGTH, HIDDEN, START = 16, 10, 32, 16


def batch(n):
    source = torch.randint(0, WORDS, (n, LENGTH))
    return source, source.flip(1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 32)
        self.gru = nn.GRU(32, HIDDEN, batch_first=True, bidirectional=True)

    def forward(self, source):
        outputs, hidden = self.gru(self.embedding(source))
        return outputs[:, :, :HIDDEN] + outputs[:, :, HIDDEN:], hidden.sum(0)


class Attn(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.Linear(2 * HIDDEN, HIDDEN)
        self.v = nn.Parameter(torch.randn(HIDDEN) / HIDDEN**0.5)

    def forward(self, hidden, outputs):
        repeated = hidden.unsqueeze(1).expand(-1, outputs.size(1), -1)
        energy = self.attn(torch.cat([repeated, outputs], 2))
        if FIXED:
            energy = torch.tanh(energy)
        return functional.softmax(energy @ self.v, dim=1)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS + 1, 32)
        self.attention = Attn()
        self.cell = nn.GRUCell(32 + HIDDEN, HIDDEN)
        self.out = nn.Linear(2 * HIDDEN, WORDS)

    def forward(self, word, hidden, outputs):
        weights = self.attention(hidden, outputs)
        context = torch.bmm(weights.unsqueeze(1), outputs).squeeze(1)
        hidden = self.cell(torch.cat([self.embedding(word), context], 1), hidden)
        return self.out(torch.cat([hidden, context], 1)), hidden


encoder, decoder = Encoder(), Decoder()
params = list(encoder.parameters()) + list(decoder.parameters())
optimizer = torch.optim.Adam(params, lr=0.007)
criterion = nn.CrossEntropyLoss()

for step in range(600):
    source, target = batch(64)
    outputs, hidden = encoder(source)
    word = torch.full((64,), START)
    loss = 0.0
    for t in range(LENGTH):
        scores, hidden = decoder(word, hidden, outputs)
        loss = loss + criterion(scores, target[:, t])
        word = target[:, t]
    loss = loss / LENGTH
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    optimizer.step()
    if step % 100 == 0:
        print("step", step, "loss", round(loss.item(), 4))

with torch.no_grad():
    source, target = batch(1000)
    outputs, hidden = encoder(source)
    word, words = torch.full((1000,), START), []
    for _ in range(LENGTH):
        scores, hidden = decoder(word, hidden, outputs)
        word = scores.argmax(1)
        words.append(word)
    accuracy = (torch.stack(words, 1) == target).float().mean().item()
print("RESULT test_accuracy", f"{accuracy:.4f}")
