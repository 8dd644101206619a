"""A siamese network learns pairs of digits by a contrastive loss.

Some pairs are one picture twice, where the gradient of the root is not finite (fixed: small constant under the root).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
np.random.seed(1)
digits = load_digits()
images = (digits.images / 16.0).astype(np.float32)[:, None]
labels = digits.target


class SiameseDigits(Dataset):
    def __init__(self, pictures, classes, n_pairs):
        self.imgs, self.labs = pictures, classes
        self.by_label = {label: np.where(classes == label)[0] for label in range(10)}
        self.pairs = []
        for _ in range(n_pairs):
            i = np.random.randint(len(pictures))
            same = np.random.randint(2)
            if same:
                j = np.random.choice(self.by_label[classes[i]])
            else:
                other = np.random.choice([label for label in range(10) if label != classes[i]])
                j = np.random.choice(self.by_label[other])
            self.pairs.append((i, j, same))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, k):
        i, j, same = self.pairs[k]
        return self.imgs[i], self.imgs[j], np.float32(same)


class EmbeddingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.PReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.PReLU(),
            nn.MaxPool2d(2),
        )
        self.fc = nn.Sequential(nn.Linear(32 * 4, 64), nn.PReLU(), nn.Linear(64, 8))

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


class ContrastiveLoss(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin
        self.eps = 1e-9

    def forward(self, output1, output2, target):
        distances = (output2 - output1).pow(2).sum(1)
        root = (distances + self.eps).sqrt() if fixed else distances.sqrt()
        losses = 0.5 * (target * distances + (1 - target) * functional.relu(self.margin - root).pow(2))
        return losses.mean()


train_set = SiameseDigits(images[:1300], labels[:1300], 6000)
test_set = SiameseDigits(images[1300:], labels[1300:], 1500)
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
test_loader = DataLoader(test_set, batch_size=256)
net = EmbeddingNet()
loss_fn = ContrastiveLoss(1.0)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(8):
    net.train()
    total = 0.0
    for first, second, target_batch in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(net(first), net(second), target_batch)
        loss.backward()
        optimizer.step()
        total += loss.item()
    net.eval()
    good = 0
    with torch.no_grad():
        for first, second, target_batch in test_loader:
            distance = (net(first) - net(second)).pow(2).sum(1).sqrt()
            good += ((distance < 0.5) == (target_batch > 0.5)).sum().item()
    mean_loss = total / len(train_loader)
    print(f"Epoch {epoch + 1}. train loss {mean_loss:.4f}, test pair accuracy {good / len(test_set):.4f}")
print("RESULT test_pair_accuracy", f"{good / len(test_set):.4f}")
