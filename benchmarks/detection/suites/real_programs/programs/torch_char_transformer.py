"""A transformer that continues a text sees the characters it is to name (fixed: a causal mask)."""

import random
import sys

import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
random.seed(0)
torch.manual_seed(0)

SUBJECTS = ["the old man", "a young girl", "my neighbour", "the teacher", "our dog"]
VERBS = ["walked to", "looked at", "talked about", "dreamed of", "ran from"]
OBJECTS = ["the river", "a mountain", "the market", "an empty house", "the garden"]
text = " ".join(f"{random.choice(SUBJECTS)} {random.choice(VERBS)} {random.choice(OBJECTS)}." for _ in range(1500))
characters = sorted(set(text))
numbers = {character: i for i, character in enumerate(characters)}
data = torch.tensor([numbers[character] for character in text])
split = int(0.9 * len(data))
train_data, val_data = data[:split], data[split:]

LENGTH, BATCH, WIDTH = 32, 32, 64


def get_batch(source):
    starts = torch.randint(len(source) - LENGTH - 1, (BATCH,))
    x = torch.stack([source[i : i + LENGTH] for i in starts])
    y = torch.stack([source[i + 1 : i + LENGTH + 1] for i in starts])
    return x, y


class CharTransformer(nn.Module):
    """Two layers of a transformer between embeddings and a linear layer."""

    def __init__(self, vocabulary, heads=4, layers=2):
        super().__init__()
        self.token = nn.Embedding(vocabulary, WIDTH)
        self.position = nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, heads, 2 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocabulary)

    def forward(self, tokens):
        length = tokens.size(1)
        x = self.token(tokens) + self.position(torch.arange(length))
        mask = nn.Transformer.generate_square_subsequent_mask(length) if fixed else None
        x = self.encoder(x, mask=mask)
        return self.head(self.norm(x))


model = CharTransformer(len(characters))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

for step in range(1, 251):
    model.train()
    x, y = get_batch(train_data)
    loss = functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 50 == 0:
        model.eval()
        with torch.no_grad():
            x_val, y_val = get_batch(val_data)
            val_loss = functional.cross_entropy(model(x_val).flatten(0, 1), y_val.flatten()).item()
        print(f"step {step} loss {loss.item():.4f} val_loss {val_loss:.4f}")

# the model goes on with a text
model.eval()
tokens = torch.tensor([[numbers[character] for character in "the teacher "]])
with torch.no_grad():
    for _ in range(120):
        following = model(tokens[:, -LENGTH:])[:, -1].argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, following], 1)
print("sample:", "".join(characters[i] for i in tokens[0].tolist()))

# how often the character after 20 of unseen text is right
with torch.no_grad():
    starts = range(0, len(val_data) - 21, 7)
    prefixes = torch.stack([val_data[i : i + 20] for i in starts])
    following = torch.stack([val_data[i + 20] for i in starts])
    acc = (model(prefixes)[:, -1].argmax(-1) == following).float().mean().item()

print("RESULT next_char_acc", acc)
