"""Tasks on small images: classes, positions, counts, segmentation."""

from __future__ import annotations

import itertools

import numpy as np
import torch
from torch import nn

from harness.parts import Apply, column
from suites.everyday_faults_blind.parts import ROWS, Skip, criterion, task

SIZE = 12
"""Height and width of images."""

# --- data ------------------------------------------------------------------------------------------------------------


def _scene(rng, rows=ROWS, noise=0.3):
    return rng.normal(size=(rows, 1, SIZE, SIZE)) * noise


def _disc(row, column, radius):
    down, right = np.indices((SIZE, SIZE))
    return (down - row) ** 2 + (right - column) ** 2 <= radius**2


def figures(rng):
    """A disc, a square, a cross or a frame at any place. Target: the figure."""
    x, y = _scene(rng), rng.integers(0, 4, ROWS)
    square, cross = np.ones((5, 5)), np.zeros((5, 5))
    cross[2], cross[:, 2] = 1, 1
    frame = square.copy()
    frame[1:4, 1:4] = 0
    shapes = [_disc(2, 2, 1.5)[:5, :5] * 1.0, square, cross, frame]
    for row, (down, right) in enumerate(rng.integers(0, SIZE - 4, (ROWS, 2))):
        x[row, 0, down : down + 5, right : right + 5] += 1.5 * shapes[y[row]]
    return x.astype(np.float32), y


def fabrics(rng):
    """Waves in one of five directions. Target: the direction."""
    y, (down, right) = rng.integers(0, 5, ROWS), np.indices((SIZE, SIZE))
    angle, phase = (y * np.pi / 5)[:, None, None], rng.uniform(0, 2 * np.pi, (ROWS, 1, 1))
    x = np.sin(1.6 * (down * np.sin(angle) + right * np.cos(angle)) + phase) + 0.6 * rng.normal(size=(ROWS, SIZE, SIZE))
    return x[:, None].astype(np.float32), y


def turned(rng):
    """An arrow of random length in three colours. Target: its rotation in quarter turns."""
    y, x = rng.integers(0, 4, ROWS), rng.normal(size=(ROWS, 3, SIZE, SIZE)) * 0.35
    for row in range(ROWS):
        arrow, length = np.zeros((SIZE, SIZE)), rng.integers(4, 8)
        arrow[5, 2 : 2 + length], arrow[3:8, 1 + length] = 1, 1
        x[row] += np.rot90(arrow, y[row]) * rng.uniform(0.5, 1.5, 3)[:, None, None]
    return x.astype(np.float32), y


def cells(rng):
    """Discs on an uneven ground. Target: a mask of the discs."""
    x, y = _scene(rng, noise=0.35), np.zeros((ROWS, 1, SIZE, SIZE))
    for row in range(ROWS):
        for _ in range(rng.integers(1, 4)):
            y[row, 0] = np.maximum(y[row, 0], _disc(*rng.uniform(1, SIZE - 1, 2), rng.uniform(1, 1.5)))
    x += y * 1.3 + np.linspace(-0.5, 0.5, SIZE) * rng.normal(size=(ROWS, 1, 1, 1))
    return x.astype(np.float32), y.astype(np.float32)


def birds(rng):
    """Bright dots. Target: their number."""
    x, count = _scene(rng, noise=0.15), rng.integers(0, 9, ROWS)
    for row in range(ROWS):
        places = rng.permutation(SIZE * SIZE)[: count[row]]
        x[row, 0].reshape(-1)[places] += 2
    return x.astype(np.float32), column(count)


def corners(rng):
    """A bright blob and a dark one. Target: the place of each, from -1 to 1 in both directions."""
    y = rng.uniform(1, SIZE - 2, (ROWS, 2, 2))
    down, right = np.indices((SIZE, SIZE))
    x = _scene(rng, noise=0.15)[:, 0]
    for which, sign in enumerate((2, -2)):
        place = y[:, which, :, None, None]
        x += sign * np.exp(-((down - place[:, 0]) ** 2 + (right - place[:, 1]) ** 2) / 2)
    return x[:, None].astype(np.float32), (y.reshape(ROWS, 4) / (SIZE - 1) * 2 - 1).astype(np.float32)


def noisy(rng):
    """Images of two bars with much noise. Target: the image without noise."""
    y = np.zeros((ROWS, 1, SIZE, SIZE))
    for row, (down, right) in enumerate(rng.integers(0, SIZE - 1, (ROWS, 2))):
        y[row, 0, down : down + 2], y[row, 0, :, right : right + 2] = 1, 1
    return (y + 0.6 * rng.normal(size=y.shape)).astype(np.float32), y.astype(np.float32)


def coarse(rng):
    """Smooth images of half the size. Target: the image in full size."""
    down, right = np.indices((SIZE, SIZE)) / SIZE * 2 * np.pi
    a, b, phase = rng.normal(size=(3, ROWS, 1, 1))
    y = np.sin(a * down + b * right + phase * 3)[:, None]
    return y[:, :, ::2, ::2].astype(np.float32).copy(), y.astype(np.float32)


# --- models ----------------------------------------------------------------------------------------------------------


def convolutions(outputs, *channels, act=nn.ReLU, norm=nn.BatchNorm2d, drop=0.0, pool=nn.MaxPool2d):
    """Return convolutions with pooling after each, and a linear layer.

    Args:
        outputs: Number of outputs.
        *channels: Number of channels of the image, then of each convolution.
        act: Makes the activation.
        norm: Makes the normalisation from a number of channels. None: no normalisation.
        drop: Dropout before the linear layer.
        pool: Makes the pooling from its size.
    """
    parts, side = [], SIZE
    for before, after in itertools.pairwise(channels):
        parts += [nn.Conv2d(before, after, 3, padding=1), *([norm(after)] if norm else []), act(), pool(2)]
        side //= 2
    return nn.Sequential(*parts, nn.Flatten(), nn.Dropout(drop), nn.Linear(channels[-1] * side * side, outputs))


def _pair(before, after, stride=1):
    return nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)


class Deep(nn.Module):
    """A residual network whose blocks begin as the identity. The width changes once.

    Args:
        outputs: Number of classes.
        blocks: Number of blocks at each width.
        colours: Number of channels of the image.
    """

    def __init__(self, outputs, blocks=1, colours=1):
        super().__init__()
        parts = [nn.Sequential(*_pair(colours, 8), nn.ReLU())]
        for width, before in ((8, 8), (12, 8)):
            if before != width:
                parts.append(nn.Sequential(*_pair(before, width, 2), nn.ReLU()))
            for _ in range(blocks):
                last, norm = _pair(width, width)
                nn.init.zeros_(norm.weight)
                parts += [Skip(*_pair(width, width), nn.ReLU(), last, norm), nn.ReLU()]
        self.body, self.head = nn.Sequential(*parts), nn.Linear(12, outputs)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


def separable(outputs, colours=1):
    """Return depthwise separable convolutions with ReLU6."""
    parts = [*_pair(colours, 12), nn.ReLU6()]
    for before, after, stride in ((12, 16, 2), (16, 24, 2)):
        parts += [
            nn.Conv2d(before, before, 3, stride, 1, groups=before, bias=False),
            nn.BatchNorm2d(before),
            nn.ReLU6(),
        ]
        parts += [nn.Conv2d(before, after, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU6()]
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, outputs))


class Denser(nn.Module):
    """Densely connected convolutions, with channel weights at the end."""

    def __init__(self, outputs, growth=6, depth=3):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(1 + growth * n, growth, 3, padding=1) for n in range(depth))
        width = 1 + growth * depth
        self.weigh = nn.Sequential(nn.Linear(width, 6), nn.ReLU(), nn.Linear(6, width), nn.Sigmoid())
        self.head = nn.Linear(width * 9, outputs)

    def forward(self, x):
        for conv in self.convs:
            x = torch.cat([x, nn.functional.elu(conv(x))], 1)
        x = x * self.weigh(x.mean((2, 3)))[:, :, None, None]
        return self.head(nn.functional.avg_pool2d(x, 4).flatten(1))


class Tiles(nn.Module):
    """A transformer over the patches of an image.

    Args:
        outputs: Number of classes.
        colours: Number of channels of the image.
        drop: Dropout.
        first: Whether normalisation comes first in each layer.
    """

    def __init__(self, outputs, colours=1, size=24, drop=0.0, first=True):
        super().__init__()
        self.cut = nn.Conv2d(colours, size, 3, 3)
        self.place = nn.Parameter(torch.randn(1, 16, size) * 0.02)
        layer = nn.TransformerEncoderLayer(size, 4, 48, drop, "gelu", batch_first=True, norm_first=first)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, outputs)

    def forward(self, x):
        x = self.layers(self.cut(x).flatten(2).transpose(1, 2) + self.place)
        return self.head(self.norm(x.mean(1)))


class Hourglass(nn.Module):
    """A U-Net of one level."""

    def __init__(self, act=nn.ReLU, bias=0.0):
        super().__init__()
        self.down, self.inner = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.norm, self.up = nn.BatchNorm2d(16), nn.ConvTranspose2d(16, 8, 2, 2)
        self.join, self.head, self.act = nn.Conv2d(16, 8, 3, padding=1), nn.Conv2d(8, 1, 1), act()
        nn.init.constant_(self.head.bias, bias)

    def forward(self, x):
        before = self.act(self.down(x))
        inner = self.act(self.norm(self.inner(nn.functional.max_pool2d(before, 2))))
        return self.head(self.act(self.join(torch.cat([before, self.up(inner)], 1))))


class Pointer(nn.Module):
    """The mean position of two attention maps."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 2, 3, padding=1)
        down, right = torch.meshgrid(torch.linspace(-1, 1, SIZE), torch.linspace(-1, 1, SIZE), indexing="ij")
        self.register_buffer("places", torch.stack([down, right], 2).view(-1, 2))

    def forward(self, x):
        seen = self.conv2(torch.relu(self.conv1(x))).flatten(2).softmax(2)
        return (seen @ self.places).flatten(1)


def cleaner(width=10):
    """Return convolutions that predict the difference from a clean image."""
    inner = (nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.LeakyReLU(0.1))
    return Skip(nn.Conv2d(1, width, 3, padding=1), nn.LeakyReLU(0.1), *inner, nn.Conv2d(width, 1, 3, padding=1))


def finer(width=12):
    """Return convolutions whose channels become pixels."""
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), nn.PReLU(), nn.Conv2d(width, 4, 3, padding=1), nn.PixelShuffle(2)
    )


def counting():
    """Return convolutions whose outputs are summed over the image."""
    added_up = Apply(lambda x: x.flatten(1).sum(1, keepdim=True))
    last = nn.Conv2d(8, 1, 1)
    nn.init.constant_(last.bias, -3.0)  # so that the first predictions are a few birds, not a hundred
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), last, nn.Softplus(), added_up)


# --- losses ----------------------------------------------------------------------------------------------------------


def overlap(scores, y):
    """Return the binary cross entropy plus the Dice loss."""
    chance = scores.sigmoid()
    common = (2 * (chance * y).sum((1, 2, 3)) + 1) / (chance.sum((1, 2, 3)) + y.sum((1, 2, 3)) + 1)
    return nn.functional.binary_cross_entropy_with_logits(scores, y) + (1 - common).mean()


CROSS, SQUARE = nn.CrossEntropyLoss, nn.MSELoss
LATE = {"optimizer": "nesterov momentum", "lr": 0.05}

PICTURE_TASKS = {
    "figures": task(figures, lambda: convolutions(4, 1, 8, 12), CROSS, lr=4e-3, steps=140),
    "figures, old": task(
        figures, lambda: convolutions(4, 1, 6, 12, act=nn.Tanh, norm=None, pool=nn.AvgPool2d), CROSS, lr=1e-2,
        steps=112,
    ),
    "figures, dense": task(figures, lambda: Denser(4), CROSS, lr=5e-3, steps=112),
    "fabrics": task(fabrics, lambda: Deep(5), CROSS, steps=70, **LATE),
    "fabrics, separable": task(fabrics, lambda: separable(5), CROSS, lr=1e-2, steps=112),
    "turned": task(turned, lambda: Tiles(4, 3), CROSS, lr=4e-3, steps=112, optimizer="adamw", weight_decay=0.05),
    "cell pictures": task(cells, Hourglass, nn.BCEWithLogitsLoss, lr=5e-3, steps=84),
    "cell pictures, overlap": task(cells, lambda: Hourglass(nn.ELU), criterion(overlap), lr=5e-3, steps=84),
    "birds": task(birds, counting, SQUARE, lr=1e-2, steps=140),
    "corners": task(corners, Pointer, SQUARE, lr=1e-2, steps=112),
    "noisy": task(noisy, cleaner, SQUARE, lr=5e-3, steps=84),
    "coarse": task(coarse, finer, nn.L1Loss, lr=1e-2, steps=112),
}  # fmt: skip
