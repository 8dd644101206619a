"""A GPT-2 that shifts its labels itself is given shifted ones (fixed: the tokens themselves are the labels)."""

import sys

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)

# a toy language: each symbol has one usual successor, sometimes a random one comes
VOCAB, LENGTH = 24, 20
successor = np.empty(VOCAB, dtype=np.int64)
cycle = rng.permutation(VOCAB)
successor[cycle] = np.roll(cycle, -1)


def make_sequences(n):
    seqs = np.zeros((n, LENGTH), dtype=np.int64)
    seqs[:, 0] = rng.integers(0, VOCAB, n)
    for t in range(1, LENGTH):
        usual = successor[seqs[:, t - 1]]
        odd = rng.integers(0, VOCAB, n)
        seqs[:, t] = np.where(rng.random(n) < 0.05, odd, usual)
    return torch.tensor(seqs)


train_ids, val_ids = make_sequences(1600), make_sequences(200)
loader = torch.utils.data.DataLoader(train_ids, batch_size=32, shuffle=True)

config = GPT2Config(
    vocab_size=VOCAB, n_positions=LENGTH, n_embd=32, n_layer=2, n_head=2, bos_token_id=None, eos_token_id=None
)
model = GPT2LMHeadModel(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

for epoch in range(8):
    model.train()
    losses = []
    for batch in loader:
        inputs = batch if fixed else batch[:, :-1]
        labels = batch if fixed else batch[:, 1:]
        out = model(input_ids=inputs, labels=labels)
        optimizer.zero_grad()
        out.loss.backward()
        optimizer.step()
        losses.append(out.loss.item())

    # let the model continue a prompt of five symbols
    model.eval()
    ids = val_ids[:, :5]
    with torch.no_grad():
        for _ in range(10):
            nxt = model(input_ids=ids).logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, nxt], dim=1)
    expected = torch.tensor(successor)[ids[:, 4:-1]]
    acc = (ids[:, 5:] == expected).float().mean().item()
    print(f"epoch {epoch + 1} loss {np.mean(losses):.4f} continuation accuracy {acc:.4f}")

print("RESULT continuation_acc", acc)
