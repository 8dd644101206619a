"""A topic classifier gives the cross-entropy of scores what a softmax returns (fixed: the scores themselves)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
rng = np.random.default_rng(1)

# short "tickets": every topic has a few typical words, the rest is general vocabulary
N_TOPICS, VOCAB, LENGTH = 20, 600, 24
topic_words = [np.arange(t * 10, t * 10 + 10) for t in range(N_TOPICS)]
general_words = np.arange(200, VOCAB)


def make_documents(n):
    labels = rng.integers(0, N_TOPICS, n)
    docs = rng.choice(general_words, (n, LENGTH))
    for i, topic in enumerate(labels):
        k = rng.integers(4, 9)
        places = rng.choice(LENGTH, k, replace=False)
        docs[i, places] = rng.choice(topic_words[topic], k)
    return torch.tensor(docs), torch.tensor(labels)


train_set = TensorDataset(*make_documents(4800))
val_set = TensorDataset(*make_documents(600))
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=200)


class TopicNet(nn.Module):
    """The mean of word vectors, and two layers."""

    def __init__(self):
        super().__init__()
        self.embed = nn.EmbeddingBag(VOCAB, 32, mode="mean")
        self.fc1 = nn.Linear(32, 64)
        self.fc2 = nn.Linear(64, N_TOPICS)

    def forward(self, docs):
        h = torch.relu(self.fc1(self.embed(docs)))
        scores = self.fc2(h)
        return scores if fixed else torch.softmax(scores, dim=1)


model = TopicNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)

for epoch in range(6):
    model.train()
    total = 0.0
    for docs, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(docs), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(docs)
    model.eval()
    hits, val_total = 0, 0.0
    with torch.no_grad():
        for docs, labels in val_loader:
            out = model(docs)
            val_total += criterion(out, labels).item() * len(docs)
            hits += (out.argmax(1) == labels).sum().item()
    print(
        f"epoch {epoch + 1:2d}  train loss {total / len(train_set):.4f}  "
        f"val loss {val_total / len(val_set):.4f}  val acc {hits / len(val_set):.4f}"
    )

print("RESULT val_acc", hits / len(val_set))
