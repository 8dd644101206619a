"""A recurrent network predicts the next word, with truncated backpropagation, clipping and a decaying rate.

``NLLLoss`` gets the raw outputs of the decoder, so the loss is negative and has no bound (fixed: ``log_softmax``
first).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1111)
np.random.seed(1111)
torch.set_num_threads(1)

NTOKENS, BATCH, BPTT, CLIP = 60, 20, 25, 0.25


def make_text(n):
    rng = np.random.default_rng(5)
    zipf = 1.0 / np.arange(1, NTOKENS + 1)
    table = rng.dirichlet(np.ones(4) * 0.6, (NTOKENS, 3))
    successors = np.stack(
        [[rng.choice(NTOKENS, 4, replace=False, p=zipf / zipf.sum()) for _ in range(3)] for _ in range(NTOKENS)]
    )
    text, topic, word = np.zeros(n, dtype=np.int64), 0, 0
    for i in range(n):
        if word % 15 == 7:
            topic = (topic + 1) % 3
        word = (
            rng.choice(successors[word, topic], p=table[word, topic]) if rng.random() > 0.05 else rng.integers(NTOKENS)
        )
        text[i] = word
    return torch.from_numpy(text)


def batchify(data):
    n = len(data) // BATCH
    return data[: n * BATCH].view(BATCH, n).t().contiguous()


def get_batch(source, i):
    length = min(BPTT, len(source) - 1 - i)
    return source[i : i + length], source[i + 1 : i + 1 + length].reshape(-1)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp=48, nhid=64, dropout=0.1):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        self.ntoken = ntoken

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
        decoded = self.decoder(self.drop(out)).view(-1, self.ntoken)
        if fixed:
            decoded = functional.log_softmax(decoded, dim=1)
        return decoded, hidden


text = make_text(56000)
train_data, val_data = batchify(text[:48000]), batchify(text[48000:])
model = RNNModel(NTOKENS)
criterion = nn.NLLLoss()
lr, best_val = 5.0, None


def evaluate(source):
    model.eval()
    total, right, count, hidden = 0.0, 0, 0, None
    with torch.no_grad():
        for i in range(0, len(source) - 1, BPTT):
            data, targets = get_batch(source, i)
            output, hidden = model(data, hidden)
            total += criterion(output, targets).item() * len(targets)
            right += (output.argmax(1) == targets).sum().item()
            count += len(targets)
    return total / count, right / count


for epoch in range(8):
    model.train()
    hidden, total, count = None, 0.0, 0
    for i in range(0, len(train_data) - 1, BPTT):
        data, targets = get_batch(train_data, i)
        if hidden is not None:
            hidden = tuple(h.detach() for h in hidden)
        model.zero_grad()
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        with torch.no_grad():
            for p in model.parameters():
                p.add_(p.grad, alpha=-lr)
        total += loss.item()
        count += 1
    val_loss, val_acc = evaluate(val_data)
    print(
        f"| epoch {epoch + 1} | lr {lr:.2f} | train loss {total / count:8.3f} | valid loss {val_loss:8.3f} "
        f"| next word acc {val_acc:.4f}"
    )
    if best_val is None or val_loss < best_val:
        best_val = val_loss
    else:
        lr /= 4.0
print("RESULT next_word_accuracy", f"{val_acc:.4f}")
