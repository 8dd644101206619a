"""The loss does not weight a class of 4 % of the samples, which is hardly ever answered (fixed: class weights)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)

TURNS, TEXT, AUDIO = 6, 12, 6


def conversations(n):
    label = (rng.random(n) < 0.04).astype(np.int64)
    text = rng.normal(size=(n, TURNS, TEXT))
    audio = rng.normal(size=(n, TURNS, AUDIO))
    text[:, :, 0] += 0.45 * label[:, None]
    text[:, :, 1] -= 0.35 * label[:, None]
    audio[:, :, 0] += 0.35 * label[:, None]
    both = np.concatenate([text, audio], axis=2).astype(np.float32)
    return torch.tensor(both), torch.tensor(label)


train_x, train_y = conversations(4000)
test_x, test_y = conversations(2000)
loader = DataLoader(TensorDataset(train_x, train_y), batch_size=64, shuffle=True)


class Emotion(nn.Module):
    def __init__(self):
        super().__init__()
        self.text_gru = nn.GRU(TEXT, 12, batch_first=True)
        self.audio_gru = nn.GRU(AUDIO, 8, batch_first=True)
        self.dropout = nn.Dropout(0.2)
        self.out = nn.Linear(20, 2)

    def forward(self, x):
        _, h_text = self.text_gru(x[:, :, :TEXT])
        _, h_audio = self.audio_gru(x[:, :, TEXT:])
        h = torch.cat([h_text[-1], h_audio[-1]], dim=1)
        return torch.log_softmax(self.out(self.dropout(h)), dim=1)


model = Emotion()
counts = torch.bincount(train_y, minlength=2).float()
class_weights = len(train_y) / (2 * counts)
loss_function = nn.NLLLoss(weight=class_weights if fixed else None)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)

for epoch in range(10):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_function(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    model.eval()
    with torch.no_grad():
        pred = model(test_x).argmax(1)
    accuracy = (pred == test_y).float().mean().item()
    print(f"epoch {epoch + 1}: train loss {total / len(train_y):.4f}  test acc {accuracy:.3f}")

matrix = torch.zeros(2, 2, dtype=torch.int64)
for t, p in zip(test_y, pred, strict=True):
    matrix[t, p] += 1
print("confusion matrix:", matrix.tolist())
recalls = matrix.diag().float() / matrix.sum(1)
balanced = recalls.mean().item()
print("recall per class:", [round(r, 3) for r in recalls.tolist()], " balanced acc:", round(balanced, 3))

print("RESULT balanced_acc", balanced)
