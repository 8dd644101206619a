"""The recurrent decoder of a voice detector is tuned on frames with and without speech.

The gradients are never set back, so those of all batches add up (fixed: ``zero_grad()`` before each backward pass).
"""

import random
import sys

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
random.seed(3)
np.random.seed(3)
torch.manual_seed(3)
torch.set_num_threads(1)

CONFIG = {"learning_rate": 1e-2, "num_epochs": 14, "batch_size": 32, "n_feat": 16, "max_len": 60}


def make_utterance(rng, directions):
    length = rng.integers(35, CONFIG["max_len"] + 1)
    labels = np.zeros(length, dtype=np.float32)
    state = rng.integers(0, 2)
    for t in range(length):
        if rng.random() < 0.12:
            state = 1 - state
        labels[t] = state
    noise = rng.normal(0, 0.7, (length, CONFIG["n_feat"]))
    smooth = np.convolve(labels, np.ones(3) / 3, mode="same")
    feats = noise + 0.9 * np.outer(smooth, directions[0]) + 0.6 * np.outer(np.sin(np.arange(length) / 5), directions[1])
    return feats.astype(np.float32), labels


class VadDataset(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        directions = np.random.default_rng(0).normal(0, 0.6, (2, CONFIG["n_feat"]))
        self.items = [make_utterance(rng, directions) for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    longest = max(len(lab) for _, lab in batch)
    x = torch.zeros(len(batch), longest, CONFIG["n_feat"])
    y = torch.zeros(len(batch), longest)
    mask = torch.zeros(len(batch), longest)
    for i, (feat, lab) in enumerate(batch):
        x[i, : len(lab)] = torch.from_numpy(feat)
        y[i, : len(lab)] = torch.from_numpy(lab)
        mask[i, : len(lab)] = 1
    return x, y, mask


class VADDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTMCell(CONFIG["n_feat"], 32)
        self.decoder = nn.Sequential(nn.Dropout(0.1), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, x, state=None):
        state = self.rnn(x, state)
        return self.decoder(state[0]), state


def run_sequence(model, x):
    outs, state = [], None
    for t in range(x.shape[1]):
        out, state = model(x[:, t], state)
        outs.append(out)
    return torch.cat(outs, dim=1)


def train_epoch(model, loader, optimizer, criterion):
    model.train()
    total, frames = 0.0, 0.0
    for x, y, mask in loader:
        probs = run_sequence(model, x)
        loss = (criterion(probs, y) * mask).sum() / mask.sum()
        if fixed:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * mask.sum().item()
        frames += mask.sum().item()
    return total / frames


@torch.no_grad()
def validate(model, loader, criterion):
    model.eval()
    total, preds, gts = 0.0, [], []
    for x, y, mask in loader:
        probs = run_sequence(model, x)
        total += (criterion(probs, y) * mask).sum().item()
        preds.append(probs[mask > 0].numpy())
        gts.append(y[mask > 0].numpy())
    preds, gts = np.concatenate(preds), np.concatenate(gts)
    return total / len(gts), roc_auc_score(gts, preds)


train_loader = DataLoader(VadDataset(400, 1), batch_size=CONFIG["batch_size"], shuffle=True, collate_fn=collate)
val_loader = DataLoader(VadDataset(150, 2), batch_size=CONFIG["batch_size"], collate_fn=collate)
model = VADDecoder()
optimizer = torch.optim.Adam(model.parameters(), lr=CONFIG["learning_rate"])
criterion = nn.BCELoss(reduction="none")

for epoch in range(CONFIG["num_epochs"]):
    train_loss = train_epoch(model, train_loader, optimizer, criterion)
    val_loss, auc = validate(model, val_loader, criterion)
    print(f"epoch {epoch + 1}: train {train_loss:.4f}  val {val_loss:.4f}  ROC-AUC {auc:.4f}")
print("RESULT val_loss", f"{val_loss:.4f}")
