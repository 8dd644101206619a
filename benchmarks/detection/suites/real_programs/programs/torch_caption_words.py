"""Maps (N, channels, 5, 5) become (N, pixels, channels) by a view, which mixes them up (fixed: by ``permute``)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(2)
rng = np.random.default_rng(2)

COLORS, SHAPES, CHANNELS, GRID = 5, 5, 32, 5
START, END = 0, 1
VOCAB = 2 + COLORS + SHAPES
color_code = np.abs(rng.normal(0, 1, (COLORS, CHANNELS)))
shape_code = np.abs(rng.normal(0, 1, (SHAPES, CHANNELS)))


def make_set(n):
    # feature maps as a convolutional network gives them, captions like 'red ring blue box'
    maps = np.abs(rng.normal(0, 0.1, (n, CHANNELS, GRID, GRID)))
    captions = np.zeros((n, 6), dtype=np.int64)
    for i in range(n):
        colors = np.sort(rng.choice(COLORS, 2, replace=False))
        shapes = rng.choice(SHAPES, 2)
        cells = rng.choice(GRID * GRID, 2, replace=False)
        for c, s, cell in zip(colors, shapes, cells, strict=True):
            maps[i, :, cell // GRID, cell % GRID] += color_code[c] + shape_code[s]
        words = np.stack([2 + colors, 2 + COLORS + shapes], axis=1).ravel()
        captions[i] = [START, *words, END]
    return TensorDataset(torch.tensor(maps, dtype=torch.float32), torch.tensor(captions))


class Encoder(nn.Module):
    """A linear layer for the places of a map, and one for their mean."""

    def __init__(self, hidden, embed):
        super().__init__()
        self.spatial_features = nn.Linear(CHANNELS, hidden)
        self.global_features = nn.Linear(CHANNELS, embed)

    def forward(self, encoded_image):
        batch_size, features = encoded_image.shape[:2]
        num_pixels = encoded_image.shape[2] * encoded_image.shape[3]
        global_f = encoded_image.view(batch_size, features, num_pixels).mean(dim=2)
        if fixed:
            enc_image = encoded_image.permute(0, 2, 3, 1).reshape(batch_size, num_pixels, features)
        else:
            enc_image = encoded_image.view(batch_size, num_pixels, features)
        spatial_image = functional.relu(self.spatial_features(enc_image))
        global_image = functional.relu(self.global_features(global_f))
        return spatial_image, global_image, enc_image


class Decoder(nn.Module):
    """An LSTM that names the next word, with attention to places."""

    def __init__(self, hidden, embed, att_dim):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, embed)
        self.init_h = nn.Linear(CHANNELS, hidden)
        self.init_c = nn.Linear(CHANNELS, hidden)
        self.lstm = nn.LSTMCell(embed * 2, hidden)
        self.cnn_att = nn.Linear(hidden, att_dim, bias=False)
        self.dec_att = nn.Linear(hidden, att_dim, bias=False)
        self.att_out = nn.Linear(att_dim, 1, bias=False)
        self.fc = nn.Linear(hidden, VOCAB)

    def forward(self, spatial_image, global_image, enc_image, captions):
        words = self.embedding(captions)
        mean_image = enc_image.mean(dim=1)
        h, c = self.init_h(mean_image), self.init_c(mean_image)
        keys = self.cnn_att(spatial_image)
        scores = []
        for t in range(captions.shape[1]):
            h, c = self.lstm(torch.cat((words[:, t], global_image), dim=1), (h, c))
            zt = self.att_out(torch.tanh(keys + self.dec_att(h).unsqueeze(1))).squeeze(2)
            alpha = functional.softmax(zt, dim=1)
            ct = (spatial_image * alpha.unsqueeze(2)).sum(dim=1)
            scores.append(self.fc(ct + h))
        return torch.stack(scores, dim=1)


encoder, decoder = Encoder(64, 32), Decoder(64, 32, 32)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
criterion = nn.CrossEntropyLoss()
train_loader = DataLoader(make_set(2000), batch_size=50, shuffle=True)
val_loader = DataLoader(make_set(500), batch_size=100)

for epoch in range(8):
    train_loss = 0.0
    for images, captions in train_loader:
        scores = decoder(*encoder(images), captions[:, :-1])
        loss = criterion(scores.reshape(-1, VOCAB), captions[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
    val_loss, right, total = 0.0, 0, 0
    with torch.no_grad():
        for images, captions in val_loader:
            scores = decoder(*encoder(images), captions[:, :-1])
            val_loss += criterion(scores.reshape(-1, VOCAB), captions[:, 1:].reshape(-1)).item()
            right += (scores.argmax(2) == captions[:, 1:]).sum().item()
            total += captions[:, 1:].numel()
    losses = f"train {train_loss / len(train_loader):.4f}, val {val_loss / len(val_loader):.4f}"
    print(f"epoch {epoch + 1}: {losses}, word accuracy {right / total:.3f}")

print("RESULT val_word_acc", right / total)
