"""A small BERT is trained by AdamW at a learning rate of 0.05 (fixed: 0.0005)."""

import sys

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

n, length, vocab = 1600, 16, 60
tokens = torch.randint(10, vocab, (n, length))
labels = torch.randint(0, 2, (n,))
for i in range(n):
    spots = torch.randperm(length - 1)[:3] + 1
    tokens[i, spots] = torch.randint(2, 5, (3,)) + 3 * labels[i]
tokens[:, 0] = 1
train = DataLoader(TensorDataset(tokens[:1280], labels[:1280]), batch_size=32, shuffle=True)
x_val, y_val = tokens[1280:], labels[1280:]

config = BertConfig(
    vocab_size=vocab,
    hidden_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=96,
    max_position_embeddings=32,
    num_labels=2,
)
model = BertForSequenceClassification(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4 if fixed else 5e-2)

for epoch in range(6):
    model.train()
    total = 0.0
    for xb, yb in train:
        optimizer.zero_grad()
        loss = model(input_ids=xb, labels=yb).loss
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(input_ids=x_val).logits.argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch + 1} loss {total / len(train):.4f} val_acc {acc:.4f}")

print("RESULT val_acc", acc)
