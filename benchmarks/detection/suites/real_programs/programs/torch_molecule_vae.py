"""A variational autoencoder with GRUs reads and writes short strings of atoms, padded to a fixed length.

The reconstruction loss counts the padding, which is most of each row, so that the decoder learns to write padding and
little else (fixed: ``ignore_index`` for the padding).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)

PAD, BOS, EOS, TOKENS, MAX_LEN = 0, 1, 2, 12, 40


def strings(n):
    rows = np.full((n, MAX_LEN), PAD)
    for i in range(n):
        length = rng.randint(3, 7)
        unit = rng.randint(3, TOKENS, 2)
        body = [unit[j % 2] for j in range(length)]
        rows[i, : length + 2] = [BOS, *body, EOS]
    return torch.from_numpy(rows)


train, test = strings(1500), strings(300)


class VAE(nn.Module):
    def __init__(self, dim=32, hidden=64, latent=16):
        super().__init__()
        self.embed = nn.Embedding(TOKENS, dim, padding_idx=PAD)
        self.encoder = nn.GRU(dim, hidden, batch_first=True)
        self.mu, self.logvar = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.start = nn.Linear(latent, hidden)
        self.decoder = nn.GRU(latent, hidden, batch_first=True)
        self.out = nn.Linear(hidden, TOKENS)

    def forward(self, x):
        lengths = (x != PAD).sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(x), lengths, batch_first=True, enforce_sorted=False)
        _, h = self.encoder(packed)
        mu, logvar = self.mu(h[0]), self.logvar(h[0])
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar) if self.training else mu
        steps, _ = self.decoder(z[:, None].expand(-1, MAX_LEN, -1).contiguous(), torch.tanh(self.start(z))[None])
        return self.out(steps), mu, logvar


def loss_function(logits, x, mu, logvar, beta=0.01):
    ignore = PAD if FIXED else -100
    rec = functional.cross_entropy(logits.reshape(-1, TOKENS), x.reshape(-1), ignore_index=ignore)
    kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1).mean()
    return rec + beta * kl, rec


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(15):
    model.train()
    total = 0.0
    order = torch.randperm(len(train))
    for start in range(0, len(train), 50):
        x = train[order[start : start + 50]]
        optimizer.zero_grad()
        logits, mu, logvar = model(x)
        loss, rec = loss_function(logits, x, mu, logvar)
        loss.backward()
        optimizer.step()
        total += rec.item() * len(x)
    model.eval()
    with torch.no_grad():
        logits, mu, logvar = model(test)
        written = logits.argmax(2)
        body = test > EOS
        right = (written == test)[body].float().mean().item()
    print(f"epoch {epoch + 1}: reconstruction loss {total / len(train):.4f}, atoms right {right:.4f}")

print("RESULT test_atom_accuracy", f"{right:.4f}")
