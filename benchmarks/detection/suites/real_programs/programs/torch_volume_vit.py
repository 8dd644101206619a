"""A small vision transformer sorts drawn volumes into three diagnoses.

The classification head ends in a Tanh, so that the logits stay within -1 and 1 and the cross-entropy cannot become
small (fixed: a linear head).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(1)
rng = np.random.RandomState(1)

SIZE, PATCH, CLASSES = 12, 4, 3


def make_volumes(n):
    grid = np.stack(np.meshgrid(*[np.arange(SIZE)] * 3, indexing="ij"), -1).astype(np.float32)
    labels = rng.randint(CLASSES, size=n)
    volumes = rng.normal(0, 0.5, size=(n, 1, SIZE, SIZE, SIZE)).astype(np.float32)
    for i, label in enumerate(labels):
        centre = rng.uniform(4, 8, size=3)
        radius = (2.0, 2.9, 3.8)[label] + rng.uniform(-0.3, 0.3)
        dist = np.sqrt(((grid - centre) ** 2).sum(-1))
        volumes[i, 0] += 1.5 / (1 + np.exp(2 * (dist - radius)))
    volumes = (volumes - volumes.mean()) / volumes.std()
    return torch.from_numpy(volumes), torch.from_numpy(labels).long()


class ViT(nn.Module):
    def __init__(self, hidden=48, layers=2, heads=4):
        super().__init__()
        self.patch_embedding = nn.Conv3d(1, hidden, PATCH, stride=PATCH)
        n_patches = (SIZE // PATCH) ** 3
        self.cls_token = nn.Parameter(torch.zeros(1, 1, hidden))
        self.position = nn.Parameter(torch.randn(1, n_patches + 1, hidden) * 0.02)
        block = nn.TransformerEncoderLayer(
            hidden, heads, hidden * 2, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(hidden)
        if FIXED:
            self.classification_head = nn.Linear(hidden, CLASSES)
        else:
            self.classification_head = nn.Sequential(nn.Linear(hidden, CLASSES), nn.Tanh())

    def forward(self, x):
        x = self.patch_embedding(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1) + self.position
        x = self.norm(self.blocks(x))
        return self.classification_head(x[:, 0])


train_x, train_y = make_volumes(1600)
test_x, test_y = make_volumes(300)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(train_x, train_y), batch_size=32, shuffle=True)

model = ViT()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
criterion = nn.CrossEntropyLoss()

for epoch in range(1, 9):
    model.train()
    total = 0.0
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        logits = model(test_x)
        test_loss = criterion(logits, test_y).item()
        accuracy = (logits.argmax(1) == test_y).float().mean().item()
    print(
        f"epoch {epoch}  train loss {total / len(loader):.4f}  test loss {test_loss:.4f}  test accuracy {accuracy:.3f}"
    )

print("RESULT test_loss", f"{test_loss:.4f}")
