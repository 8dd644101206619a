"""A small trainer class teaches a classifier of support tickets.

``zero_grad`` is never called, so gradients add up over all steps (fixed: called after each step).
"""

import random
import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
random.seed(8)
torch.manual_seed(8)

TOPICS = {
    0: "invoice payment refund charge card price bill money tax receipt",
    1: "login password account email reset locked verify user access code",
    2: "crash error bug freeze screen update install version slow restart",
    3: "delivery parcel address courier late lost box tracking shipment order",
}
TOPICS = {topic: words.split() for topic, words in TOPICS.items()}
COMMON = (
    "please help i the a my is not with and it was after today cannot again why thanks hello when "
    "since your service still need this on for"
)
COMMON = COMMON.split()
vocab = {w: i + 1 for i, w in enumerate(sorted({*COMMON, *(w for words in TOPICS.values() for w in words)}))}


def ticket():
    c = random.randrange(4)
    n = random.randint(8, 20)
    words = []
    for _ in range(n):
        r = random.random()
        if r < 0.16:
            words.append(random.choice(TOPICS[c]))
        elif r < 0.22:
            words.append(random.choice(TOPICS[random.randrange(4)]))
        else:
            words.append(random.choice(COMMON))
    ids = [vocab[w] for w in words] + [0] * (20 - n)
    return ids, c


def build(n):
    rows = [ticket() for _ in range(n)]
    return torch.tensor([r[0] for r in rows]), torch.tensor([r[1] for r in rows])


class Classifier(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(len(vocab) + 1, d, padding_idx=0)
        self.pos = nn.Parameter(torch.zeros(1, 20, d))
        self.enc = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.1, batch_first=True)
        self.fc = nn.Linear(d, 4)

    def forward(self, x):
        mask = x == 0
        h = self.enc(self.emb(x) + self.pos, src_key_padding_mask=mask)
        h = h.masked_fill(mask.unsqueeze(2), 0).sum(1) / (~mask).sum(1, keepdim=True)
        return self.fc(h)


class Trainer:
    def __init__(self, model, train, val, lr=0.02, batch=32, epochs=8):
        self.model, self.train_data, self.val_data = model, train, val
        self.batch, self.epochs = batch, epochs
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.loss_fn = nn.CrossEntropyLoss()

    def optimizer_step(self):
        self.optimizer.step()
        if fixed:
            self.optimizer.zero_grad()

    def validate(self):
        self.model.eval()
        with torch.no_grad():
            out = self.model(self.val_data[0])
        return self.loss_fn(out, self.val_data[1]).item(), (out.argmax(1) == self.val_data[1]).float().mean().item()

    def train(self):
        x, y = self.train_data
        for epoch in range(self.epochs):
            self.model.train()
            losses = []
            perm = torch.randperm(len(x))
            for i in range(0, len(x), self.batch):
                b = perm[i : i + self.batch]
                loss = self.loss_fn(self.model(x[b]), y[b])
                loss.backward()
                self.optimizer_step()
                losses.append(loss.item())
            vl, va = self.validate()
            print(f"[{epoch}] train/loss {np.mean(losses):.4f} val/loss {vl:.4f} val/acc {va:.4f}")
        return va


trainer = Trainer(Classifier(), build(2000), build(500))
print("RESULT val_accuracy", f"{trainer.train():.4f}")
