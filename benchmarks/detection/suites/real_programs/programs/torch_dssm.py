"""DSSM finds the clicked document for a query among others, both of them bags of letter trigrams.

A softmax comes before ``CrossEntropyLoss``, which applies one again (fixed: raw scores into ``CrossEntropyLoss``).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
WORD_DEPTH, HIDDEN, SEMANTIC, NEGATIVES = 300, 64, 16, 29  # letter trigrams, hidden, semantic, negatives
TOPICS = 40
doc_topic = rng.dirichlet(np.full(WORD_DEPTH, 0.05), TOPICS)
query_topic = rng.dirichlet(np.full(WORD_DEPTH, 0.05), TOPICS)


def bags(n):
    topics = rng.randint(0, TOPICS, n)
    queries = np.stack([rng.multinomial(5, query_topic[k]) for k in topics])
    clicked = np.stack([rng.multinomial(15, doc_topic[k]) for k in topics])
    return torch.tensor(queries, dtype=torch.float32), torch.tensor(clicked, dtype=torch.float32), topics


def negatives(topics):
    others = rng.randint(0, len(topics), (len(topics), NEGATIVES))
    for _ in range(20):
        bad = topics[others] == topics[:, None]
        others[bad] = rng.randint(0, len(topics), bad.sum())
    return others


class DSSM(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(WORD_DEPTH, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, SEMANTIC), nn.Tanh())
        self.doc = nn.Sequential(nn.Linear(WORD_DEPTH, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, SEMANTIC), nn.Tanh())
        self.gamma = nn.Parameter(torch.tensor(5.0))

    def forward(self, queries, pos, negs):
        queries = self.query(queries)[:, None]
        docs = self.doc(torch.cat([pos[:, None], negs], 1))
        dots = functional.cosine_similarity(queries, docs, dim=2) * self.gamma
        if fixed:
            return dots
        return functional.softmax(dots, dim=1)


queries, clicked, topics = bags(2000)
queries_val, clicked_val, topics_val = bags(500)
negatives_val = negatives(topics_val)
model = DSSM()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for epoch in range(15):
    perm = rng.permutation(len(queries))
    others = negatives(topics)
    total = 0
    for i in range(0, len(perm), 50):
        batch = perm[i : i + 50]
        prob = model(queries[batch], clicked[batch], clicked[others[batch]])
        target = torch.zeros(len(batch), dtype=torch.long)  # clicked document comes first
        loss = criterion(prob, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        p1 = (model(queries_val, clicked_val, clicked_val[negatives_val]).argmax(1) == 0).float().mean().item()
    print(f"epoch {epoch} loss {total / (len(perm) // 50):.4f}  val P@1 {p1:.4f}")
print("RESULT val_precision_at_1", f"{p1:.4f}")
