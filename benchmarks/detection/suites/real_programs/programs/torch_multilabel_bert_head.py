"""A small pretrained BERT is fine-tuned to find all topics of a short text, which may have several.

The new classification layer has the small learning rate of the encoder, 0.00004, at which it hardly leaves its random
start, so that the scores stay about the same for all texts (fixed: 0.01 for this layer alone).
"""

import sys

import numpy as np
import torch
from sklearn.metrics import f1_score
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
LABELS, WORDS, LENGTH, MASK = 10, 12, 18, 2
VOCAB = 3 + LABELS * WORDS + 40  # 0 pad, 1 cls, 2 mask, topic words, common words


def texts(n):
    y = (rng.random((n, LABELS)) < 0.12).astype(np.float32)
    y[np.arange(n), rng.integers(0, LABELS, n)] = 1
    ids = np.ones((n, LENGTH), dtype=np.int64)
    for i in range(n):
        topics = np.flatnonzero(y[i])
        pick = np.concatenate([topics, topics, rng.choice(topics, LENGTH)])[: LENGTH - 5]
        words = 3 + pick * WORDS + rng.integers(0, WORDS, len(pick))
        words = np.concatenate([words, 3 + LABELS * WORDS + rng.integers(0, 40, LENGTH - 1 - len(words))])
        ids[i, 1:] = rng.permutation(words)
    return torch.tensor(ids), torch.tensor(y)


DIM = 48


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCAB, DIM)
        self.positions = nn.Parameter(torch.randn(LENGTH, DIM) * 0.02)
        layer = nn.TransformerEncoderLayer(DIM, 4, 96, dropout=0.1, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, ids):
        return self.encoder(self.words(ids) + self.positions)


class MaskedLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = Bert()
        self.decoder = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        return self.decoder(self.bert(ids))


lm = MaskedLM()
optimizer = torch.optim.AdamW(lm.parameters(), lr=2e-3)
raw, _ = texts(5000)
for _ in range(400):  # pretraining
    ids = raw[torch.randint(0, len(raw), (32,))]
    hide = (torch.rand(ids.shape) < 0.2) & (ids > 2)
    loss = nn.functional.cross_entropy(lm(ids.masked_fill(hide, MASK))[hide], ids[hide])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("pretraining loss", loss.item())


class MultiLabelModel(nn.Module):
    def __init__(self, bert):
        super().__init__()
        self.bert = bert
        self.dropout = nn.Dropout(0.1)
        self.classifier = nn.Linear(DIM, LABELS)
        nn.init.normal_(self.classifier.weight, std=0.02)

    def forward(self, ids):
        return self.classifier(self.dropout(self.bert(ids).mean(1)))


x_train, y_train = texts(1600)
x_test, y_test = texts(600)
model = MultiLabelModel(lm.bert)
args = {
    "learning_rate": 4e-5,
    "learning_rate_classifier": 1e-2 if FIXED else 4e-5,
    "weight_decay": 0.01,
    "num_train_epochs": 3,
    "train_batch_size": 16,
}
no_decay = ["bias", "norm1.weight", "norm2.weight"]
groups = []
for name, p in model.named_parameters():
    groups.append(
        {
            "params": [p],
            "weight_decay": 0.0 if any(nd in name for nd in no_decay) else args["weight_decay"],
            "lr": args["learning_rate_classifier"] if name.startswith("classifier") else args["learning_rate"],
        }
    )
optimizer = torch.optim.AdamW(groups, lr=args["learning_rate"])
criterion = nn.BCEWithLogitsLoss()
for epoch in range(args["num_train_epochs"]):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x_train)).split(args["train_batch_size"]):
        loss = criterion(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} running loss {total * args['train_batch_size'] / len(x_train):.4f}", flush=True)

model.eval()
with torch.no_grad():
    pred = (torch.sigmoid(model(x_test)) > 0.5).numpy()
print("RESULT test_f1_macro", f"{f1_score(y_test.numpy(), pred, average='macro', zero_division=0):.4f}")
