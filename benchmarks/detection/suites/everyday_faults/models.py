"""Models of the tasks. Faults are made by arguments; the defaults are sound."""

from __future__ import annotations

import torch
from torch import nn

from harness.parts import dense


class ImageNet(nn.Module):
    """Convolutions and pooling, then a classifier."""

    def __init__(self, size=(10, 8), outputs=10, act=nn.ReLU, norm=nn.BatchNorm2d, drop=0.0):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), norm(8), act(), nn.MaxPool2d(2), nn.Conv2d(8, 12, 3, padding=1), act()
        )
        left = 12 * (size[0] // 2) * (size[1] // 2)
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(drop), nn.Linear(left, outputs))

    def forward(self, x):
        return self.classifier(self.features(x))


class StepBlock(nn.Module):
    """Two convolutions with a skip connection."""

    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(x + self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))))


class ResNet(nn.Module):
    """Blocks after a stem, averaged at the end."""

    def __init__(self, blocks=2, channels=8, outputs=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU())
        self.blocks = nn.Sequential(*(StepBlock(channels) for _ in range(blocks)))
        self.fc = nn.Linear(channels, outputs)

    def forward(self, x):
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


class Listed(nn.Module):
    """Fully connected layers. The middle ones are in a plain list, which PyTorch does not see."""

    def __init__(self, inputs, outputs, size=32, depth=3):
        super().__init__()
        self.enter, self.out = nn.Linear(inputs, size), nn.Linear(size, outputs)
        self.middle = [nn.Linear(size, size) for _ in range(depth)]

    def forward(self, x):
        x = self.enter(x)
        for layer in self.middle:
            x = layer(torch.relu(x))
        return self.out(torch.relu(x))


class WaveNet(nn.Module):
    """Strided convolutions along time, averaged at the end."""

    def __init__(self, act=nn.ReLU, norm=nn.BatchNorm1d, drop=0.0, outputs=4):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(3, 12, 7, stride=2, padding=3), nn.Conv1d(12, 16, 5, stride=2, padding=2)
        self.norm1, self.norm2 = norm(12), norm(16)
        self.act1, self.act2, self.drop = act(), act(), nn.Dropout(drop)
        self.pool, self.out = nn.AdaptiveAvgPool1d(1), nn.Linear(16, outputs)

    def forward(self, x):
        x = self.act2(self.norm2(self.conv2(self.act1(self.norm1(self.conv1(x))))))
        return self.out(self.drop(self.pool(x).flatten(1)))


class Recurrent(nn.Module):
    """A recurrent layer over numbers or words, and a linear layer over the last state or all states.

    Args:
        cell: The recurrent layer.
        inputs: Number of inputs at each moment, if there are no words.
        words: Number of words.
        size: Size of the state.
        outputs: Number of scores.
        read: Function of the states, of shape (N, T, size).
        drop: Dropout after `read`.
        **more: Further arguments of the recurrent layer.
    """

    def __init__(
        self, cell, inputs=0, words=0, size=20, outputs=2, read=lambda states: states[:, -1], drop=0.0, **more
    ):
        super().__init__()
        self.embed = nn.Embedding(words, 12) if words else nn.Identity()
        self.cell = cell(12 if words else inputs, size, batch_first=True, **more)
        self.drop, self.read = nn.Dropout(drop), read
        self.out = nn.Linear(size * (2 if more.get("bidirectional") else 1), outputs)

    def forward(self, x):
        scores = self.out(self.drop(self.read(self.cell(self.embed(x))[0])))
        return scores.transpose(1, 2) if scores.ndim > 2 else scores


def everywhere(states):
    """Return all states, for scores at each moment."""
    return states


class Elman(nn.Module):
    """A recurrent layer written by hand.

    Args:
        scale: Factor of the recurrent weights, which begin as an orthogonal matrix.
        act: Activation at each moment.
    """

    def __init__(self, inputs=4, size=20, outputs=2, scale=1.0, act=torch.tanh):
        super().__init__()
        self.enter, self.again = nn.Linear(inputs, size), nn.Linear(size, size, bias=False)
        self.out, self.act = nn.Linear(size, outputs), act
        nn.init.orthogonal_(self.again.weight, gain=scale)

    def forward(self, x):
        state = torch.zeros(len(x), self.again.in_features)
        for moment in x.unbind(1):
            state = self.act(self.enter(moment) + self.again(state))
        return self.out(state)


class Asked(nn.Module):
    """A transformer over words with a class token."""

    def __init__(self, words=30, length=10, size=24, outputs=5, drop=0.0):
        super().__init__()
        self.embed = nn.Embedding(words, size)
        self.first = nn.Parameter(torch.randn(1, 1, size) * 0.1)
        self.place = nn.Parameter(torch.randn(1, length + 1, size) * 0.1)
        layer = nn.TransformerEncoderLayer(size, 4, 48, drop, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.norm, self.out = nn.LayerNorm(size), nn.Linear(size, outputs)

    def forward(self, x):
        x = torch.cat([self.first.expand(len(x), -1, -1), self.embed(x)], 1) + self.place
        return self.out(self.norm(self.encoder(x)[:, 0]))


class TextCnn(nn.Module):
    """Convolutions of two widths over words, and the maximum of each channel."""

    def __init__(self, words=40, outputs=4, drop=0.0):
        super().__init__()
        self.embed = nn.Embedding(words, 16)
        self.convs = nn.ModuleList(nn.Conv1d(16, 12, width) for width in (2, 3))
        self.relu, self.drop, self.out = nn.ReLU(), nn.Dropout(drop), nn.Linear(24, outputs)

    def forward(self, x):
        x = self.embed(x).transpose(1, 2)
        return self.out(self.drop(torch.cat([self.relu(conv(x)).amax(2) for conv in self.convs], 1)))


class TwoTowers(nn.Module):
    """Products of the vectors of customers and articles."""

    def __init__(self, customers=40, articles=30, size=8):
        super().__init__()
        self.customer, self.article = nn.Embedding(customers, size), nn.Embedding(articles, size)
        self.left, self.right = nn.Linear(size, size), nn.Linear(size, size)
        self.bias = nn.Embedding(articles, 1)

    def forward(self, x):
        customer, article = x.unbind(1)
        product = self.left(self.customer(customer)) * self.right(self.article(article))
        return product.sum(1, keepdim=True) + self.bias(article)


class Compared(nn.Module):
    """One encoder for both items of a pair, and a score of their difference."""

    def __init__(self, inputs=10, size=16):
        super().__init__()
        self.encoder = dense(inputs, 32, size)
        self.out = nn.Linear(size, 1)

    def forward(self, x):
        return self.out((self.encoder(x[:, 0]) - self.encoder(x[:, 1])).abs())


class Scored(nn.Module):
    """A score for each item of a pair."""

    def __init__(self, inputs=7):
        super().__init__()
        self.scorer = dense(inputs, 24, 24, 1)

    def forward(self, x):
        return self.scorer(x)[:, :, 0]


class Copier(nn.Module):
    """An autoencoder of images with brightness from 0 to 1."""

    def __init__(self, size=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(80, 48), nn.ReLU(), nn.Linear(48, size))
        self.decoder = nn.Sequential(nn.ReLU(), nn.Linear(size, 48), nn.ReLU(), nn.Linear(48, 80))

    def forward(self, x):
        return torch.sigmoid(self.decoder(self.encoder(x))).view(x.shape)


class Vague(nn.Module):
    """A variational autoencoder of images."""

    def __init__(self, size=6):
        super().__init__()
        self.inner = nn.Sequential(nn.Flatten(), nn.Linear(80, 48), nn.ELU())
        self.mean, self.log_variance = nn.Linear(48, size), nn.Linear(48, size)
        self.decoder = nn.Sequential(nn.Linear(size, 48), nn.ELU(), nn.Linear(48, 80))

    def forward(self, x):
        inner = self.inner(x)
        mean, log_variance = self.mean(inner), self.log_variance(inner)
        code = mean + torch.randn_like(mean) * (log_variance / 2).exp() if self.training else mean
        return self.decoder(code).view(x.shape), mean, log_variance


class Tuned(nn.Module):
    """A pretrained backbone and a new head.

    Args:
        backbone: Layers with 24 outputs.
        learns: Whether the backbone is trained, too.
        outputs: Number of classes.
    """

    def __init__(self, backbone, learns=False, outputs=4):
        super().__init__()
        self.backbone, self.head = backbone.requires_grad_(learns), nn.Linear(24, outputs)

    def forward(self, x):
        return self.head(self.backbone(x))


class Residual(nn.Module):
    """Small layers with skip connections and layer normalisation."""

    def __init__(self, inputs=16, outputs=6, size=24, depth=6):
        super().__init__()
        self.enter, self.out = nn.Linear(inputs, size), nn.Linear(size, outputs)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(size), nn.Linear(size, size), nn.SiLU()) for _ in range(depth)
        )

    def forward(self, x):
        x = self.enter(x)
        for layer in self.layers:
            x = x + layer(x)
        return self.out(x)
