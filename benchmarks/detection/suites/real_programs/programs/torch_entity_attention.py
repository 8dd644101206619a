"""A GRU with attention over the words of a question predicts the vector of the entity that it is about.

The softmax of the attention runs over an axis of size 1, so all weights are 1 (fixed: over the words).
"""

import sys

import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
ENTITIES, FILLERS, LENGTH, DIM = 150, 300, 20, 16
g = torch.Generator().manual_seed(1)
entity_vectors = functional.normalize(torch.randn(ENTITIES, DIM, generator=g), dim=1) * 2


def questions(n):
    text = torch.randint(ENTITIES, ENTITIES + FILLERS, (LENGTH, n), generator=g)
    entity = torch.randint(0, ENTITIES, (n,), generator=g)
    text[torch.randint(0, LENGTH, (n,), generator=g), torch.arange(n)] = entity
    return text, entity


class EmbedVector(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(ENTITIES + FILLERS, 32)
        self.gru = nn.GRU(32, 24, bidirectional=True)
        self.attn = nn.Linear(32 + 48, 1)
        self.hidden2tag = nn.Linear(48 + 32, DIM)

    def forward(self, text):
        x = self.embed(text)
        outputs, _ = self.gru(x)
        scores = self.attn(torch.cat((x, outputs), 2))
        attn_weights = functional.softmax(scores, dim=0 if fixed else 2)
        context = torch.cat((outputs, x), 2) * attn_weights
        return self.hidden2tag(context.sum(0))


train_text, train_entity = questions(3000)
test_text, test_entity = questions(500)
model = EmbedVector()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(25):
    order = torch.randperm(3000)
    total = 0.0
    for i in range(0, 3000, 50):
        b = order[i : i + 50]
        optimizer.zero_grad()
        loss = functional.mse_loss(model(train_text[:, b]), entity_vectors[train_entity[b]])
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        out = model(test_text)
        found = torch.cdist(out, entity_vectors).argmin(1)
        acc = (found == test_entity).float().mean().item()
        test_loss = functional.mse_loss(out, entity_vectors[test_entity])
    print(f"epoch {epoch} loss {total / 60:.4f} test loss {test_loss:.4f} entity found {acc:.4f}")
print("RESULT entity_accuracy", f"{acc:.4f}")
