"""A word-level language model is trained, and evaluated on other text after every epoch.

The evaluation leaves the model in evaluation mode, so dropout is off from the second epoch on (fixed: ``train()`` at
the start of each epoch).
"""

import sys

import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
VOCAB, SEQ = 60, 12


def make_text(n, seed):
    """Sentences of a language in which a word depends, loosely, on the two before it."""
    rules = torch.Generator().manual_seed(99)
    table = torch.randint(0, VOCAB, (12, 12, 4), generator=rules)
    g = torch.Generator().manual_seed(seed)
    rows = []
    for _ in range(n):
        row = torch.randint(0, VOCAB, (2,), generator=g).tolist()
        while len(row) < SEQ + 1:
            if torch.rand(1, generator=g) < 0.25:
                row.append(int(torch.randint(0, VOCAB, (1,), generator=g)))
            else:
                k = int(torch.randint(0, 4, (1,), generator=g))
                row.append(int(table[row[-2] % 12, row[-1] % 12, k]))
        rows.append(row)
    return torch.tensor(rows)


train_text = make_text(500, 1)
eval_text = make_text(300, 2)


class LanguageModel(nn.Module):
    def __init__(self, width=96, p=0.5):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.drop = nn.Dropout(p)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, VOCAB)

    def forward(self, tokens):
        h, _ = self.rnn(self.drop(self.embed(tokens)))
        return self.head(self.drop(h))


model = LanguageModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
criterion = nn.CrossEntropyLoss()


def evaluate():
    model.eval()
    with torch.no_grad():
        out = model(eval_text[:, :-1])
        return criterion(out.reshape(-1, VOCAB), eval_text[:, 1:].reshape(-1)).item()


def train_model(epochs=30, evaluate_during_training=True):
    model.train()
    for epoch in range(epochs):
        if fixed:
            model.train()
        order = torch.randperm(len(train_text), generator=torch.Generator().manual_seed(epoch))
        total = 0.0
        for i in range(0, len(order), 20):
            rows = train_text[order[i : i + 20]]
            out = model(rows[:, :-1])
            loss = criterion(out.reshape(-1, VOCAB), rows[:, 1:].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * 20 / len(order)
        if evaluate_during_training:
            print(f"epoch {epoch} train loss {total:.4f} eval loss {evaluate():.4f}")


train_model()
print("RESULT eval_loss", f"{evaluate():.4f}")
