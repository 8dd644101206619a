"""A variational autoencoder of sentences views the states (2, N, H) of both directions as (N, 2 H).

So codes mix different sentences (fixed: the two directions concatenated). The encoder is a bidirectional GRU, the
decoder a GRU whose words are dropped, and the weight of the divergence grows.
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)

SUBJ = ["cat", "dog", "man", "woman", "child", "bird", "horse", "farmer", "doctor", "teacher"]
VERB = ["sees", "likes", "takes", "wants", "paints", "finds", "brings", "holds"]
ADJ = ["red", "old", "small", "heavy", "green", "broken", "shiny", "cheap"]
OBJ = ["ball", "chair", "book", "apple", "house", "lamp", "stone", "ring", "boat", "key"]
PLACE = ["garden", "kitchen", "city", "forest", "station", "school"]
words = ["<pad>", "<sos>", "<eos>", "<unk>", "the", "a", "in", *SUBJ, *VERB, *ADJ, *OBJ, *PLACE]
w2i = {w: i for i, w in enumerate(words)}
PAD, SOS, EOS, UNK = range(4)
MAX = 11


def sentence():
    s = ["the", rng.choice(SUBJ), rng.choice(VERB), "a"]
    if rng.rand() < 0.6:
        s.append(rng.choice(ADJ))
    s.append(rng.choice(OBJ))
    if rng.rand() < 0.5:
        s += ["in", "the", rng.choice(PLACE)]
    return [w2i[w] for w in s]


def make(n):
    inp, tgt, length = np.zeros((n, MAX), np.int64), np.zeros((n, MAX), np.int64), np.zeros(n, np.int64)
    for k in range(n):
        s = sentence()
        length[k] = len(s) + 1
        inp[k, : length[k]] = [SOS, *s]
        tgt[k, : length[k]] = [*s, EOS]
    return torch.from_numpy(inp), torch.from_numpy(tgt), torch.from_numpy(length)


class SentenceVAE(nn.Module):
    def __init__(self, emb=48, hidden=64, latent=24, word_dropout=0.6):
        super().__init__()
        self.hidden_size, self.hidden_factor, self.word_dropout = hidden, 2, word_dropout
        self.embedding = nn.Embedding(len(words), emb)
        self.encoder_rnn = nn.GRU(emb, hidden, bidirectional=True, batch_first=True)
        self.decoder_rnn = nn.GRU(emb, hidden, batch_first=True)
        self.hidden2mean = nn.Linear(hidden * 2, latent)
        self.hidden2logv = nn.Linear(hidden * 2, latent)
        self.latent2hidden = nn.Linear(latent, hidden)
        self.outputs2vocab = nn.Linear(hidden, len(words))

    def encode(self, seq, length):
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(seq), length, batch_first=True, enforce_sorted=False)
        _, hidden = self.encoder_rnn(packed)
        batch = seq.size(0)
        if fixed:
            hidden = torch.cat([hidden[0], hidden[1]], dim=1)
        else:
            hidden = hidden.view(batch, self.hidden_size * self.hidden_factor)
        return self.hidden2mean(hidden), self.hidden2logv(hidden)

    def forward(self, seq, length):
        mean, logv = self.encode(seq, length)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * logv) if self.training else mean
        dec = seq.clone()
        if self.word_dropout > 0:
            drop = torch.rand(seq.shape) < (self.word_dropout if self.training else 1.0)
            drop &= (seq != SOS) & (seq != PAD)
            dec[drop] = UNK
        h0 = self.latent2hidden(z).unsqueeze(0)
        out, _ = self.decoder_rnn(self.embedding(dec), h0)
        return self.outputs2vocab(out), mean, logv


model = SentenceVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
inp, tgt, length = make(4000)
inp_v, tgt_v, length_v = make(500)


def reconstruction():
    """share of the words that come back when the decoder has only the code"""
    model.eval()
    right = total = 0
    with torch.no_grad():
        for k in range(0, len(inp_v), 50):
            logits, _, _ = model(inp_v[k : k + 50], length_v[k : k + 50])
            m = tgt_v[k : k + 50] != PAD
            right += ((logits.argmax(-1) == tgt_v[k : k + 50]) & m).sum().item()
            total += m.sum().item()
    return right / total


step = 0
for epoch in range(20):
    model.train()
    order = torch.randperm(len(inp))
    nll_sum = kl_sum = 0.0
    for k in range(0, len(order), 50):
        b = order[k : k + 50]
        logits, mean, logv = model(inp[b], length[b])
        nll = functional.cross_entropy(logits.transpose(1, 2), tgt[b], ignore_index=PAD, reduction="sum") / len(b)
        kl = -0.5 * (1 + logv - mean.pow(2) - logv.exp()).sum() / len(b)
        weight = 0.3 / (1 + np.exp(-0.01 * (step - 1000)))
        loss = nll + weight * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        nll_sum, kl_sum = nll_sum + nll.item(), kl_sum + kl.item()
    if epoch % 5 == 4:
        n = len(inp) / 50
        print(f"epoch {epoch + 1}: NLL {nll_sum / n:.3f} KL {kl_sum / n:.3f} words back {reconstruction():.4f}")
print("RESULT words_back", f"{reconstruction():.4f}")
