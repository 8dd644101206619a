"""Implicit feedback: matrix factorisation with the BPR loss; hit rate at 10 with one left out item per user."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)
U, I, K = 500, 300, 5
pu = rng.normal(size=(U, K))
qi = rng.normal(size=(I, K))
pop = rng.normal(0, 0.8, I)
score = 1.3 * pu @ qi.T + pop
items = []
for u in range(U):
    g = score[u] + rng.gumbel(size=I)
    items.append(np.argsort(-g)[: rng.integers(20, 40)])
held = np.array([rng.choice(s) for s in items])
train = [(u, i) for u in range(U) for i in items[u] if i != held[u]]
train = torch.tensor(train)
seen = torch.zeros(U, I, dtype=torch.bool)
for u in range(U):
    seen[u, torch.as_tensor(items[u])] = True
negs = np.stack([rng.choice(np.where(~seen[u].numpy())[0], 99, replace=False) for u in range(U)])
candidates = torch.tensor(np.c_[held, negs])


class BPRMF(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.user = nn.Embedding(U, dim)
        self.item = nn.Embedding(I, dim)
        self.bias = nn.Embedding(I, 1)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        nn.init.zeros_(self.bias.weight)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)


model = BPRMF()
opt = torch.optim.Adam(model.parameters(), lr=0.005)
REG = 0.02


@torch.no_grad()
def hit_rate():
    s = model(torch.arange(U).unsqueeze(1).expand(-1, 100), candidates)
    rank = (s[:, 1:] >= s[:, :1]).sum(1)
    return (rank < 10).float().mean().item()


print("before", hit_rate())
for epoch in range(20):
    perm = torch.randperm(len(train))
    tot = 0
    for k in range(0, len(train), 256):
        b = train[perm[k : k + 256]]
        u, i = b[:, 0], b[:, 1]
        j = torch.randint(0, I, (len(b),))
        while True:  # draw again where the negative is a known positive
            bad = seen[u, j] & (j != torch.as_tensor(held)[u])
            if not bad.any():
                break
            j[bad] = torch.randint(0, I, (int(bad.sum()),))
        diff = model(u, i) - model(u, j)
        reg = (model.user(u).pow(2).sum(1) + model.item(i).pow(2).sum(1) + model.item(j).pow(2).sum(1)).mean()
        loss = -F.logsigmoid(diff).mean() + REG * reg
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(b)
    print(f"epoch {epoch + 1} loss {tot / len(train):.4f} HR@10 {hit_rate():.4f}")
cnt = torch.bincount(train[:, 1], minlength=I).float()
p = cnt[candidates]
print("popularity HR@10", ((p[:, 1:] >= p[:, :1]).sum(1) < 10).float().mean().item())
with torch.no_grad():
    s = torch.tensor(score)[torch.arange(U).unsqueeze(1), candidates]
    print("oracle HR@10", ((s[:, 1:] >= s[:, :1]).sum(1) < 10).float().mean().item())
print(f"RESULT HR@10 {hit_rate():.4f}")
