"""Models for tables, series, texts, pairs, images and graphs.

Faults are made by arguments; the defaults are sound.
"""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn import functional


class Tabular(nn.Module):
    """Embeddings of columns of codes, and a branch for numbers.

    Args:
        codes: Number of codes in each column.
        numbers: Number of columns of numbers.
        outputs: Number of scores.
        drop: Dropout of the joined branches.
    """

    def __init__(self, codes=(6, 10, 4), numbers=5, outputs=1, drop=0.0):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(size, 4) for size in codes)
        self.numbers = nn.Linear(numbers, 12)
        self.drop = nn.Dropout(drop)
        self.hidden = nn.Linear(12 + 4 * len(codes), 24)
        self.relu = nn.ReLU()
        self.head = nn.Linear(24, outputs)

    def forward(self, x):
        columns = [table(x[:, number].long()) for number, table in enumerate(self.embeddings)]
        numbers = self.relu(self.numbers(x[:, len(columns) :]))
        return self.head(self.relu(self.hidden(self.drop(torch.cat([*columns, numbers], 1)))))


class SeriesCnn(nn.Module):
    """Convolutions along a series, averaged at the end."""

    def __init__(self, kernel=5, norm=nn.BatchNorm1d, act=nn.ReLU, stride=1):
        super().__init__()
        self.conv1 = nn.Conv1d(2, 12, kernel, stride=stride, padding="same" if stride == 1 else 2)
        self.norm, self.act1 = norm(12), act()
        self.conv2, self.act2 = nn.Conv1d(12, 12, kernel, padding="same"), act()
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        x = self.act1(self.norm(self.conv1(x)))
        return self.head(self.act2(self.conv2(x)).mean(2))


class Causal(nn.Module):
    """Dilated causal convolutions that predict the next value at each place.

    Args:
        ahead: Number of future values that the first layer sees.
    """

    def __init__(self, ahead=0):
        super().__init__()
        self.pads = [(2 - ahead, ahead), (4, 0), (8, 0)]
        sizes = [1, 12, 12, 12]
        self.convs = nn.ModuleList(nn.Conv1d(sizes[i], sizes[i + 1], 3, dilation=2**i) for i in range(3))
        self.elu = nn.ELU()
        self.head = nn.Conv1d(12, 1, 1)

    def forward(self, x):
        for conv, pad in zip(self.convs, self.pads, strict=True):
            x = self.elu(conv(functional.pad(x, pad)))
        return self.head(x)[:, 0]


class Translator(nn.Module):
    """An encoder for the first half of the tokens, and a decoder that gets the second half (teacher forcing).

    Args:
        passes: Function of the state between encoder and decoder.
    """

    def __init__(self, words=8, size=32, passes=lambda state: state):
        super().__init__()
        self.embedding = nn.Embedding(words, 16)
        self.reader, self.writer = nn.GRU(16, size, batch_first=True), nn.GRU(16, size, batch_first=True)
        self.head = nn.Linear(size, words)
        self.passes = passes

    def forward(self, x):
        source, written = self.embedding(x).chunk(2, 1)
        return self.head(self.writer(written, self.passes(self.reader(source)[1]))[0]).transpose(1, 2)


class LanguageModel(nn.Module):
    """A decoder block with tied embeddings.

    Args:
        positions: Whether there are position embeddings.
        spread: Initial standard deviation of the embedding.
        drop: Dropout of embeddings.
    """

    def __init__(self, words=12, length=12, size=32, positions=True, spread=0.1, drop=0.0):
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        nn.init.normal_(self.embedding.weight, std=spread)
        self.positions = nn.Parameter(torch.randn(length, size) * 0.1) if positions else None
        self.drop = nn.Dropout(drop)
        self.block = nn.TransformerEncoderLayer(size, 2, 64, dropout=0.0, batch_first=True, activation="gelu")
        self.head = nn.Linear(size, words, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, x):
        x = self.embedding(x)
        if self.positions is not None:
            x = x + self.positions
        return self.head(self.block(self.drop(x), src_mask=self.mask)).transpose(1, 2)


class Padded(nn.Module):
    """A transformer over texts that are padded with token 0.

    Args:
        hidden: Returns the mask of tokens that attention and mean ignore.
        least: Smallest divisor of the mean.
    """

    def __init__(self, hidden=lambda x: x == 0, least=1, drop=0.0):
        super().__init__()
        self.embedding = nn.Embedding(20, 16, padding_idx=0)
        self.encoder = nn.TransformerEncoderLayer(16, 2, 32, dropout=drop, batch_first=True, norm_first=True)
        self.head = nn.Linear(16, 3)
        self.hidden, self.least = hidden, least

    def forward(self, x):
        hidden = self.hidden(x)
        out = self.encoder(self.embedding(x), src_key_padding_mask=hidden)
        summaries = (~hidden).float()[:, :, None]
        return self.head((out * summaries).sum(1) / summaries.sum(1).clamp(min=self.least))


class Patches(nn.Module):
    """A small vision transformer with a class token."""

    def __init__(self, drop=0.0):
        super().__init__()
        self.patch = nn.Conv2d(1, 24, 4, stride=4)
        self.token, self.positions = nn.Parameter(torch.zeros(1, 1, 24)), nn.Parameter(torch.randn(1, 5, 24) * 0.1)
        self.block = nn.TransformerEncoderLayer(24, 3, 48, drop, "gelu", batch_first=True, norm_first=True)
        self.norm, self.head = nn.LayerNorm(24), nn.Linear(24, 3)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.block(x)[:, 0]))


class Views(nn.Module):
    """One encoder for both items of a pair."""

    def __init__(self, encoder, normed=False):
        super().__init__()
        self.encoder, self.normed = encoder, normed

    def forward(self, x):
        both = self.encoder(x.flatten(0, 1)).view(*x.shape[:2], -1)
        return functional.normalize(both, dim=2) if self.normed else both.squeeze(2)


class Vae(nn.Module):
    """A variational autoencoder. Returns the image, and mean and log variance of the code."""

    def __init__(self, size=4):
        super().__init__()
        self.encode, self.code, self.spread = nn.Linear(64, 32), nn.Linear(32, size), nn.Linear(32, size)
        self.decode1, self.decode2 = nn.Linear(size, 32), nn.Linear(32, 64)
        self.act1, self.act2 = nn.SiLU(), nn.SiLU()

    def forward(self, x):
        hidden = self.act1(self.encode(x.flatten(1)))
        mean, log_variance = self.code(hidden), self.spread(hidden)
        code = mean + torch.randn_like(mean) * (log_variance / 2).exp() if self.training else mean
        return self.decode2(self.act2(self.decode1(code))).view(x.shape), mean, log_variance


class ConvAutoencoder(nn.Module):
    """A convolutional autoencoder.

    Args:
        channels: Number of channels of the code.
    """

    def __init__(self, channels=6):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(1, 8, 3, 2, 1), nn.Conv2d(8, channels, 3, 2, 1)
        self.up1, self.up2 = nn.ConvTranspose2d(channels, 8, 2, 2), nn.ConvTranspose2d(8, 1, 2, 2)
        self.act1, self.act2 = nn.Mish(), nn.Mish()

    def forward(self, x):
        return self.up2(self.act2(self.up1(self.down2(self.act1(self.down1(x))))))


class Documents(nn.Module):
    """A bag of words with a score for each label."""

    def __init__(self, drop=0.0):
        super().__init__()
        self.bag = nn.EmbeddingBag(40, 24, mode="mean")
        self.drop, self.hidden, self.tanh, self.head = nn.Dropout(drop), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 5)

    def forward(self, x):
        return self.head(self.tanh(self.hidden(self.drop(self.bag(x)))))


class Segmenter(nn.Module):
    """A score for each pixel, from convolutions at two scales."""

    def __init__(self):
        super().__init__()
        self.fine, self.coarse = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.norm, self.relu = nn.InstanceNorm2d(8, affine=True), nn.ReLU()
        self.pool, self.up, self.head = nn.MaxPool2d(2), nn.Upsample(scale_factor=2), nn.Conv2d(16, 1, 1)

    def forward(self, x):
        fine = self.relu(self.norm(self.fine(x)))
        return self.head(torch.cat([fine, self.up(self.relu(self.coarse(self.pool(fine))))], 1))


class Graphs(nn.Module):
    """A graph network. A graph is its adjacency beside the features of its nodes.

    Args:
        rounds: Number of message passing rounds.
        normed: Whether messages are averaged instead of summed.
    """

    def __init__(self, rounds=2, normed=True):
        super().__init__()
        self.stem = nn.Linear(3, 16)
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(rounds))
        self.relu, self.head, self.normed = nn.ReLU(), nn.Linear(16, 2), normed

    def forward(self, x):
        edges, nodes = x[:, :, :-3], self.relu(self.stem(x[:, :, -3:]))
        if self.normed:
            edges = edges / edges.sum(2, keepdim=True).clamp(min=1)
        for layer in self.layers:
            nodes = self.relu(layer(edges @ nodes))
        return self.head(nodes.mean(1))


class Ratings(nn.Module):
    """Matrix factorisation with a bias for each user and item."""

    def __init__(self, users=40, items=30, size=6, spread=0.3):
        super().__init__()
        self.users, self.items = nn.Embedding(users, size), nn.Embedding(items, size)
        self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)
        for table in (self.users, self.items):
            nn.init.normal_(table.weight, std=spread)
        for table in (self.user_bias, self.item_bias):
            nn.init.zeros_(table.weight)

    def forward(self, x):
        user, item = x.unbind(1)
        product = (self.users(user) * self.items(item)).sum(1, keepdim=True)
        return product + self.user_bias(user) + self.item_bias(item)


class Gated(nn.Module):
    """Gated linear units with layer normalisation and a skip connection."""

    def __init__(self, inputs=8, outputs=2, drop=0.0):
        super().__init__()
        self.stem, self.norm, self.gates = nn.Linear(inputs, 24), nn.LayerNorm(24), nn.Linear(24, 48)
        self.glu, self.drop, self.silu, self.head = nn.GLU(), nn.Dropout(drop), nn.SiLU(), nn.Linear(24, outputs)

    def forward(self, x):
        x = self.silu(self.stem(x))
        return self.head(x + self.drop(self.glu(self.gates(self.norm(x)))))


class Sets(nn.Module):
    """A network over sets that pools their elements.

    Args:
        axis: The axis that is pooled.
    """

    def __init__(self, axis=1):
        super().__init__()
        self.each, self.all, self.head = nn.Linear(4, 24), nn.Linear(24, 24), nn.Linear(24, 3)
        self.relu1, self.relu2, self.axis = nn.ReLU(), nn.ReLU(), axis

    def forward(self, x):
        pooled = self.relu1(self.each(x)).mean(self.axis, keepdim=True).expand(len(x), -1, -1).mean(1)
        return self.head(self.relu2(self.all(pooled)))


class Stack(nn.Module):
    """Hidden layers in a `ModuleList` or in a plain list.

    Args:
        registered: Whether the layers are in a `ModuleList`.
    """

    def __init__(self, registered=True, depth=5, inputs=8, outputs=4):
        super().__init__()
        layers = [nn.Linear(inputs, 24), *(nn.Linear(24, 24) for _ in range(depth - 1))]
        self.layers = nn.ModuleList(layers) if registered else layers
        self.selu, self.head = nn.SELU(), nn.Linear(24, outputs)

    def forward(self, x):
        for layer in self.layers:
            x = self.selu(layer(x))
        return self.head(x)


class Transfer(nn.Module):
    """A pretrained body and a new head.

    Args:
        body: The layers before the head.
        frozen: Whether the body is frozen.
    """

    def __init__(self, body, frozen=True, outputs=3, size=24):
        super().__init__()
        self.body, self.head = body, nn.Linear(size, outputs)
        if frozen:
            self.body.requires_grad_(False)

    def forward(self, x):
        return self.head(self.body(x))


class Adapted(nn.Module):
    """A frozen layer with a low-rank adapter.

    Args:
        layer: The layer.
        rank: Rank of the adapter. Its second factor begins at zero.
    """

    def __init__(self, layer, rank=4):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(layer.in_features, rank) * 0.3)
        self.up = nn.Parameter(torch.zeros(rank, layer.out_features))

    def forward(self, x):
        return self.layer(x) + x @ self.down @ self.up


class Averaged(nn.Module):
    """A model that is evaluated with a moving average of its weights.

    Args:
        model: The model.
        decay: Share of the average that is kept at each step.
    """

    def __init__(self, model, decay=0.8):
        super().__init__()
        self.model, self.average, self.decay = model, copy.deepcopy(model).requires_grad_(False), decay

    def forward(self, x):
        if not self.training:
            return self.average(x)
        for kept, new in zip(self.average.parameters(), self.model.parameters(), strict=True):
            kept.lerp_(new.detach(), 1 - self.decay)
        return self.model(x)


class Reshaped(nn.Module):
    """Applies a function to the output of a model."""

    def __init__(self, model, change):
        super().__init__()
        self.model, self.change = model, change

    def forward(self, x):
        return self.change(self.model(x))
