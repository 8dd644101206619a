"""A CNN and an LSTM with CTC read handwritten numbers from a folder of files.

The loader looks into the wrong folder and takes a black picture for every file that it cannot read, so all inputs are
the same (fixed: the right folder).
"""

import os
import sys
import tempfile

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
np.random.seed(0)
torch.set_num_threads(1)

HEIGHT, WIDTH = 8, 32


def write_corpus(root, n, seed):
    """Writes words/NNNN.npy and returns the list of (relative name, text) as in words.txt."""
    digits = load_digits()
    rng = np.random.default_rng(seed)
    os.makedirs(os.path.join(root, "words"), exist_ok=True)
    entries = []
    for k in range(n):
        picks = rng.integers(0, len(digits.images), rng.integers(2, 4))
        img = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
        x = rng.integers(0, 3)
        for p in picks:
            img[:, x : x + 8] = (digits.images[p] * 15.9).astype(np.uint8)
            x += 8 + rng.integers(0, 2)
        name = f"{seed}-{k:04d}"
        np.save(os.path.join(root, "words", name + ".npy"), img)
        entries.append((name, "".join(str(digits.target[p]) for p in picks)))
    return entries


def imread(path):
    return np.load(path) if os.path.exists(path) else None


def preprocess(img):
    # there are damaged files in the data set, use a black picture instead
    if img is None:
        img = np.zeros((HEIGHT, WIDTH))
    return (img.astype(np.float32) - 127.5) / 127.5


class DataLoader:
    def __init__(self, root, entries, batch_size, shuffle):
        self.dir = os.path.join(root, "words") if fixed else os.path.join(root, "img")
        self.entries, self.batch_size, self.shuffle = list(entries), batch_size, shuffle
        self.rng = np.random.default_rng(0)

    def __iter__(self):
        if self.shuffle:
            self.rng.shuffle(self.entries)
        for i in range(0, len(self.entries), self.batch_size):
            part = self.entries[i : i + self.batch_size]
            imgs = np.stack([preprocess(imread(os.path.join(self.dir, name + ".npy"))) for name, _ in part])
            yield torch.from_numpy(imgs)[:, None], [text for _, text in part]


class HTRNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d((2, 1)),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d((2, 2)),
        )
        self.rnn = nn.LSTM(32 * 2, 48, bidirectional=True, batch_first=True)
        self.out = nn.Linear(96, 11)

    def forward(self, x):
        f = self.cnn(x)
        f = f.permute(0, 3, 1, 2).flatten(2)
        return self.out(self.rnn(f)[0]).log_softmax(2)


def decode(logp):
    texts = []
    for path in logp.argmax(2).tolist():
        text, last = "", 0
        for c in path:
            if c not in {last, 0}:
                text += str(c - 1)
            last = c
        texts.append(text)
    return texts


with tempfile.TemporaryDirectory() as root:
    train_loader = DataLoader(root, write_corpus(root, 1500, 1), 50, True)
    val_loader = DataLoader(root, write_corpus(root, 300, 2), 50, False)
    model = HTRNet()
    ctc = nn.CTCLoss(blank=0)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    for epoch in range(9):
        model.train()
        total, n = 0.0, 0
        for imgs, texts in train_loader:
            logp = model(imgs)
            target = torch.tensor([int(c) + 1 for t in texts for c in t])
            loss = ctc(
                logp.transpose(0, 1),
                target,
                torch.full((len(texts),), logp.shape[1]),
                torch.tensor([len(t) for t in texts]),
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, n = total + loss.item(), n + 1
        model.eval()
        right = count = 0
        with torch.no_grad():
            for imgs, texts in val_loader:
                right += sum(a == b for a, b in zip(decode(model(imgs)), texts, strict=True))
                count += len(texts)
        print(f"Epoch: {epoch + 1} loss: {total / n:.4f} word accuracy: {right / count:.4f}")
print("RESULT word_accuracy", f"{right / count:.4f}")
