"""Similarities of pictures and captions are multiplied by a temperature of 0.07 (fixed: divided by it)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
rng = np.random.default_rng(0)
torch.manual_seed(0)

COLORS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1), "yellow": (1, 1, 0), "white": (1, 1, 1)}
SHAPES = ["square", "circle", "cross", "bar"]
PLACES = {"top left": (4, 4), "top right": (4, 12), "bottom left": (12, 4), "bottom right": (12, 12)}
WORDS = ["a", "in", "the", "top", "bottom", "left", "right", *COLORS, *SHAPES]
NUMBERS = {word: i for i, word in enumerate(WORDS)}
rows, columns = np.mgrid[:16, :16]


def draw(color, shape, place):
    cy, cx = PLACES[place]
    cy, cx = cy + rng.integers(-1, 2), cx + rng.integers(-1, 2)
    dy, dx = np.abs(rows - cy), np.abs(columns - cx)
    mask = {
        "square": (dy <= 2) & (dx <= 2),
        "circle": dy**2 + dx**2 <= 7,
        "cross": ((dy <= 3) & (dx == 0)) | ((dx <= 3) & (dy == 0)),
        "bar": (dy <= 0) & (dx <= 3),
    }[shape]
    image = rng.normal(0, 0.1, (3, 16, 16))
    image[:, mask] += np.array(COLORS[color])[:, None]
    return image.astype("float32")


def caption(color, shape, place):
    return [NUMBERS[word] for word in f"a {color} {shape} in the {place}".split()]


combinations = [(color, shape, place) for color in COLORS for shape in SHAPES for place in PLACES]
# each caption is drawn 25 times, and a batch has each caption once
ROUNDS = 25
ids = np.tile(np.arange(len(combinations)), ROUNDS)
images = torch.from_numpy(np.stack([draw(*combinations[i]) for i in ids]))
texts = torch.tensor([caption(*combinations[i]) for i in ids])
val_images = torch.from_numpy(np.stack([draw(*combination) for combination in combinations]))
val_texts = torch.tensor([caption(*combination) for combination in combinations])


class Clip(nn.Module):
    """An encoder of pictures and one of captions, and how similar what they give is."""

    def __init__(self, width=64, temperature=0.07):
        super().__init__()
        self.visual = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 16, width),
        )
        self.embedding = nn.Embedding(len(NUMBERS), 32)
        self.text = nn.Sequential(nn.Linear(7 * 32, 64), nn.ReLU(), nn.Linear(64, width))
        self.temperature = temperature

    def forward(self, image, tokens):
        i = functional.normalize(self.visual(image), dim=-1)
        t = functional.normalize(self.text(self.embedding(tokens).flatten(1)), dim=-1)
        return i @ t.T / self.temperature if fixed else i @ t.T * self.temperature


model = Clip()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)

for epoch in range(12):
    model.train()
    losses = []
    for batch in torch.arange(len(images)).view(ROUNDS, -1)[torch.randperm(ROUNDS)]:
        logits = model(images[batch], texts[batch])
        labels = torch.arange(len(batch))
        loss = (functional.cross_entropy(logits, labels) + functional.cross_entropy(logits.T, labels)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        logits = model(val_images, val_texts)
    recall = (logits.argmax(1) == torch.arange(len(combinations))).float().mean().item()
    print(f"epoch {epoch + 1} loss {np.mean(losses):.4f} recall_at_1 {recall:.4f}")

print("RESULT recall_at_1", recall)
