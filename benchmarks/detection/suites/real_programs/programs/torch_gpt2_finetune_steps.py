"""A small language model in the style of GPT-2 learns sentences whose words follow a Markov chain of word groups.

The loop evaluates the model every 30 steps. The evaluation puts it into evaluation mode, and the training goes on in
that mode, so that dropout is off from the first evaluation to the end (fixed: the model is put back into training mode
after each evaluation).
"""

import math
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)

VOCAB, SEQ = 60, 20
n_groups = 10
group = np.arange(VOCAB) % n_groups
group_next = rng.dirichlet(np.full(n_groups, 0.1), size=n_groups)
word_given_group = np.zeros((n_groups, VOCAB))
for g in range(n_groups):
    word_given_group[g, group == g] = rng.dirichlet(np.full((group == g).sum(), 0.7))


def sentence():
    c = rng.randint(n_groups)
    words = []
    for _ in range(SEQ + 1):
        c = rng.choice(n_groups, p=group_next[c])
        words.append(rng.choice(VOCAB, p=word_given_group[c]))
    return words


train_data = torch.tensor([sentence() for _ in range(400)])
dev_data = torch.tensor([sentence() for _ in range(150)])
test_data = torch.tensor([sentence() for _ in range(200)])


class Block(nn.Module):
    def __init__(self, dim, heads, p):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, dropout=p, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Dropout(p), nn.Linear(4 * dim, dim))
        self.drop = nn.Dropout(p)

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.drop(self.attn(h, h, h, attn_mask=mask, need_weights=False)[0])
        return x + self.drop(self.mlp(self.ln2(x)))


class GPT2(nn.Module):
    def __init__(self, dim=64, layers=2, heads=4, p=0.3):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCAB, dim), nn.Embedding(SEQ, dim)
        nn.init.normal_(self.wte.weight, std=0.1)
        nn.init.normal_(self.wpe.weight, std=0.05)
        self.drop = nn.Dropout(p)
        self.blocks = nn.ModuleList([Block(dim, heads, p) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, VOCAB)
        self.register_buffer("mask", torch.triu(torch.ones(SEQ, SEQ, dtype=torch.bool), 1))

    def forward(self, ids):
        x = self.drop(self.wte(ids) + self.wpe.weight[: ids.shape[1]])
        for block in self.blocks:
            x = block(x, self.mask)
        return self.head(self.ln_f(x))


model = GPT2()
num_epochs, batch_size, display_steps = 30, 40, 30
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
steps_total = num_epochs * (len(train_data) // batch_size)
scheduler = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda s: min(1.0, (s + 1) / 30) * max(0.05, 1 - s / steps_total)
)


def lm_loss(ids):
    logits = model(ids[:, :-1])
    return functional.cross_entropy(logits.reshape(-1, VOCAB), ids[:, 1:].reshape(-1))


@torch.no_grad()
def eval_epoch(data):
    model.eval()
    total = sum(lm_loss(part).item() * len(part) for part in data.split(50))
    return total / len(data)


def train():
    model.train()
    step, running = 0, []
    for _ in range(num_epochs):
        order = torch.randperm(len(train_data))
        for i in range(0, len(order) - batch_size + 1, batch_size):
            optimizer.zero_grad()
            loss = lm_loss(train_data[order[i : i + batch_size]])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            running.append(loss.item())
            step += 1
            if step % display_steps == 0:
                dev_loss = eval_epoch(dev_data)
                print(f"step {step} train loss {np.mean(running):.3f} dev loss {dev_loss:.3f}")
                running = []
                if FIXED:
                    model.train()


train()
print("train", f"{eval_epoch(train_data):.3f}")
print("RESULT test_perplexity", f"{math.exp(eval_epoch(test_data)):.4f}")
