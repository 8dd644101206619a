"""The mask of a translator's decoder hides nothing, so the word to predict is an input (fixed: later words hidden)."""

import math
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)

PAD, BOS, EOS, FIRST, N_WORDS, MAX_WORDS = 0, 1, 2, 3, 20, 7
VOCAB = FIRST + N_WORDS
lexicon = FIRST + rng.permutation(N_WORDS)


def make_pairs(n):
    src = np.zeros((n, MAX_WORDS + 2), dtype=np.int64)
    tgt = np.zeros((n, MAX_WORDS + 2), dtype=np.int64)
    for i in range(n):
        words = rng.randint(0, N_WORDS, rng.randint(3, MAX_WORDS + 1))
        src[i, : len(words) + 2] = [BOS, *(words + FIRST), EOS]
        tgt[i, : len(words) + 2] = [BOS, *lexicon[words[::-1]], EOS]
    return torch.tensor(src), torch.tensor(tgt)


def get_attn_padding_mask(seq_q, seq_k):
    """byte mask, 1 where the key is padding"""
    return seq_k.eq(PAD).unsqueeze(1).expand(-1, seq_q.size(1), -1).to(torch.uint8)


def get_attn_subsequent_mask(seq):
    """byte mask, 1 above the diagonal"""
    n, length = seq.shape
    return torch.triu(torch.ones(length, length, dtype=torch.uint8), diagonal=1).expand(n, -1, -1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head, self.d_k = n_head, d_model // n_head
        self.w_q, self.w_k, self.w_v = (nn.Linear(d_model, d_model) for _ in range(3))
        self.proj = nn.Linear(d_model, d_model)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, q, k, mask):
        def split(t):
            return t.unflatten(2, (self.n_head, self.d_k)).transpose(1, 2)

        qs, ks, vs = split(self.w_q(q)), split(self.w_k(k)), split(self.w_v(k))
        attn = qs @ ks.transpose(2, 3) / math.sqrt(self.d_k)
        attn = attn.masked_fill(mask.bool().unsqueeze(1), -1e9).softmax(dim=-1)
        return self.norm(q + self.proj((attn @ vs).transpose(1, 2).flatten(2)))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_inner):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_model, d_inner), nn.ReLU(), nn.Linear(d_inner, d_model))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x):
        return self.norm(x + self.net(x))


class Transformer(nn.Module):
    def __init__(self, d_model=64, d_inner=128, n_head=4):
        super().__init__()
        self.src_emb, self.tgt_emb = nn.Embedding(VOCAB, d_model), nn.Embedding(VOCAB, d_model)
        self.src_pos = nn.Parameter(0.1 * torch.randn(MAX_WORDS + 2, d_model))
        self.tgt_pos = nn.Parameter(0.1 * torch.randn(MAX_WORDS + 2, d_model))
        self.enc_attn, self.enc_ff = MultiHeadAttention(d_model, n_head), FeedForward(d_model, d_inner)
        self.slf_attn, self.enc_dec_attn = MultiHeadAttention(d_model, n_head), MultiHeadAttention(d_model, n_head)
        self.dec_ff = FeedForward(d_model, d_inner)
        self.word_prj = nn.Linear(d_model, VOCAB)

    def forward(self, src, tgt):
        enc = self.src_emb(src) + self.src_pos[: src.size(1)]
        enc = self.enc_ff(self.enc_attn(enc, enc, get_attn_padding_mask(src, src)))
        slf_mask = get_attn_padding_mask(tgt, tgt) + get_attn_subsequent_mask(tgt)
        slf_mask = torch.gt(slf_mask, 0) if fixed else torch.gt(slf_mask, 1)
        dec = self.tgt_emb(tgt) + self.tgt_pos[: tgt.size(1)]
        dec = self.slf_attn(dec, dec, slf_mask)
        dec = self.enc_dec_attn(dec, enc, get_attn_padding_mask(tgt, src))
        return self.word_prj(self.dec_ff(dec))


def translate(model, src):
    out = torch.full((len(src), 1), BOS)
    for _ in range(MAX_WORDS + 1):
        out = torch.cat([out, model(src, out)[:, -1].argmax(1, keepdim=True)], dim=1)
    return out


train_src, train_tgt = make_pairs(3000)
valid_src, valid_tgt = make_pairs(300)
model = Transformer()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98))

for epoch in range(10):
    model.train()
    for idx in torch.randperm(len(train_src)).split(64):
        src, tgt = train_src[idx], train_tgt[idx]
        optimizer.zero_grad()
        pred = model(src, tgt[:, :-1])
        loss = functional.cross_entropy(pred.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        pred = model(valid_src, valid_tgt[:, :-1]).argmax(2)
        gold = valid_tgt[:, 1:]
        keep = gold.ne(PAD)
        acc = pred.eq(gold)[keep].float().mean().item()
    print(f"epoch {epoch + 1}  loss {loss.item():.4f}  validation accuracy {acc:.4f}")

with torch.no_grad():
    out = translate(model, valid_src)[:, 1:]
print(out[0].tolist(), "should be", gold[0].tolist())

print("RESULT translated_words_right", f"{out.eq(gold)[keep].float().mean().item():.4f}")
