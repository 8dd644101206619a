"""A transformer decoder translates sequences of numbers, trained with teacher forcing and decoded step by step.

In training, every position sees the tokens after it, that is, its own answer (fixed: causal mask in training).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
VOCAB, SOS, LEN = 9, 8, 8  # tokens 0..7 and start
TABLE = rng.permutation(64).reshape(8, 8) % 8


def sequences(n):
    # every target token follows from the token before it and the source token at its place
    src = rng.randint(0, 8, (n, LEN))
    tgt = np.zeros((n, LEN), dtype=np.int64)
    prev = np.zeros(n, dtype=np.int64)
    for k in range(LEN):
        prev = TABLE[prev, src[:, k]]
        tgt[:, k] = prev
    return torch.tensor(src), torch.tensor(tgt)


class Seq2Seq(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.pos_src = nn.Parameter(torch.randn(LEN, d) * 0.5)
        self.pos_tgt = nn.Parameter(torch.randn(LEN, d) * 0.5)
        enc = nn.TransformerEncoderLayer(d, 4, 128, dropout=0.0, batch_first=True)
        dec = nn.TransformerDecoderLayer(d, 4, 128, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(enc, 1)
        self.decoder = nn.TransformerDecoder(dec, 1)
        self.out = nn.Linear(d, VOCAB)

    def forward(self, src, tgt_in):
        memory = self.encoder(self.emb(src) + self.pos_src)
        length = tgt_in.shape[1]
        mask = None
        if fixed:
            mask = torch.triu(torch.full((length, length), float("-inf")), diagonal=1)
        hidden = self.decoder(self.emb(tgt_in) + self.pos_tgt[:length], memory, tgt_mask=mask)
        return self.out(hidden)

    @torch.no_grad()
    def generate(self, src):
        tokens = torch.full((len(src), 1), SOS)
        for _ in range(LEN):
            tokens = torch.cat([tokens, self(src, tokens)[:, -1].argmax(-1, keepdim=True)], 1)
        return tokens[:, 1:]


src, tgt = sequences(5000)
src_valid, tgt_valid = sequences(300)
model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def start(t):
    return torch.cat([torch.full((len(t), 1), SOS), t[:, :-1]], 1)


for epoch in range(12):
    model.train()
    perm = torch.randperm(len(src))
    losses = []
    for i in range(0, len(perm), 64):
        batch = perm[i : i + 64]
        logits = model(src[batch], start(tgt[batch]))
        loss = functional.cross_entropy(logits.transpose(1, 2), tgt[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        valid_loss = functional.cross_entropy(model(src_valid, start(tgt_valid)).transpose(1, 2), tgt_valid).item()
    acc = (model.generate(src_valid) == tgt_valid).float().mean().item()
    print(f"epoch {epoch}: train {np.mean(losses):.4f} valid {valid_loss:.4f} generated tokens right {acc:.4f}")
print("RESULT generated_token_acc", f"{acc:.4f}")
