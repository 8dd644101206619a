"""Tasks for convolutions: images, clips and signals."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from harness.parts import Apply, dense
from suites.sound_jobs.parts import OwnLoss, Residual, Task

IMAGES = 600

# --- data ------------------------------------------------------------------------------------------------------------


def shapes(rng):
    """Images with a square, a disc, a cross or a frame at any place. Target: the shape."""
    y, rows, columns = rng.integers(0, 4, IMAGES), *np.mgrid[0:12, 0:12]
    x = rng.normal(size=(IMAGES, 1, 12, 12)) * 0.3
    for number, kind in enumerate(y):
        a, b = np.abs(rows - rng.integers(3, 9)), np.abs(columns - rng.integers(3, 9))
        far = np.maximum(a, b)
        x[number, 0] += [far <= 2, a + b <= 2, (far <= 2) & ((a == 0) | (b == 0)), far == 2][kind] * 1.5
    return x.astype(np.float32), y


def textures(rng):
    """Colour images with stripes in one of four directions and varying brightness. Target: the direction."""
    y, rows, columns = rng.integers(0, 4, IMAGES), *np.mgrid[0:10, 0:10]
    along = np.stack([rows, columns, rows + columns, rows - columns])[y]
    phase = rng.uniform(0, 6.3, (IMAGES, 1, 1))
    x = np.sin(1.6 * along + phase)[:, None] * rng.uniform(0.5, 1, (IMAGES, 3, 1, 1))
    return (x + rng.normal(size=(IMAGES, 3, 1, 1)) * 0.3 + 0.4 * rng.normal(size=x.shape)).astype(np.float32), y


def spots(rng):
    """Noise with a bright spot. Target: its position, from -1 to 1."""
    place, (rows, columns) = rng.uniform(1.5, 8.5, (IMAGES, 2)), np.mgrid[0:10, 0:10]
    far = (rows - place[:, :1, None]) ** 2 + (columns - place[:, 1:, None]) ** 2
    x = 2 * np.exp(-far / 3) + 0.2 * rng.normal(size=far.shape)
    return x[:, None].astype(np.float32), ((place - 5) / 5).astype(np.float32)


def cells(rng):
    """Noise with a disc and a square, which may overlap. Target: disc, square or neither for each pixel."""
    (rows, columns), y = np.mgrid[0:12, 0:12], np.zeros((IMAGES, 12, 12), int)
    for number in range(IMAGES):
        a, b, c, d = rng.integers(2, 10, 4)
        y[number][(rows - a) ** 2 + (columns - b) ** 2 <= 6] = 1
        y[number][np.maximum(np.abs(rows - c), np.abs(columns - d)) <= 1] = 2
    x = np.array([0.0, 1.0, -1.2])[y] + 0.5 * rng.normal(size=y.shape)
    return x[:, None].astype(np.float32), y


def hills(rng):
    """Smooth images of half the size. Target: the image in full size."""
    rows, columns = np.mgrid[0:12, 0:12] / 12
    a, b, c, d = rng.uniform(-1, 1, (4, IMAGES, 1, 1)) * 6
    y = np.sin(a * rows + b * columns + c) + 0.6 * np.cos(d * rows * columns)
    return y[:, None, ::2, ::2].astype(np.float32), y[:, None].astype(np.float32)


def clips(rng):
    """Five frames with a bar that moves to one of four sides. Target: the side."""
    y, x = rng.integers(0, 4, 400), rng.normal(size=(400, 1, 5, 8, 8)) * 0.3
    for number, side in enumerate(y):
        start = rng.integers(0, 8)
        for frame in range(5):
            place = (start + (frame if side % 2 else -frame)) % 8
            x[number, 0, frame, place if side < 2 else slice(None), slice(None) if side < 2 else place] += 1.5
    return x.astype(np.float32), y


def beats(rng):
    """Series of regular beats. Target: whether one beat came early, in one of four series."""
    y, time = rng.random(IMAGES) < 0.25, np.arange(48)
    x = np.zeros((IMAGES, 48))
    for number in range(IMAGES):
        places = np.arange(rng.integers(0, 12), 48, 12).astype(float)
        if y[number]:
            places[rng.integers(1, len(places))] -= rng.integers(4, 7)
        x[number] = np.exp(-((time[:, None] - places) ** 2)).sum(1) * 2
    return (x + 0.15 * rng.normal(size=x.shape))[:, None].astype(np.float32), y.astype(np.int64)


def chords(rng):
    """A sum of tones with noise. Target: which of five tones it contains."""
    y, time = rng.random((IMAGES, 5)) < 0.4, np.arange(40) / 40
    waves = np.sin(2 * np.pi * (np.array([2, 4, 7, 11, 15])[:, None] * time + rng.random((IMAGES, 5, 1))))
    x = (waves * y[:, :, None] * rng.uniform(0.7, 1.3, (IMAGES, 5, 1))).sum(1) + 0.3 * rng.normal(size=(IMAGES, 40))
    return x[:, None].astype(np.float32), y.astype(np.float32)


# --- models ----------------------------------------------------------------------------------------------------------


def conv(inputs, outputs, kernel=3, *, stride=1, groups=1, norm=nn.BatchNorm2d, act=nn.ReLU):
    """Return a convolution with optional normalisation and activation."""
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=norm is None)]
    layers += [norm(outputs)] if norm else []
    return nn.Sequential(*layers, *([act()] if act else []))


class StepBlock(nn.Module):
    """A residual block of two convolutions."""

    def __init__(self, inputs, outputs, stride=1, norm=nn.BatchNorm2d):
        super().__init__()
        self.inner = nn.Sequential(
            conv(inputs, outputs, stride=stride, norm=norm), conv(outputs, outputs, norm=norm, act=None)
        )
        same = inputs == outputs and stride == 1
        self.round = nn.Identity() if same else conv(inputs, outputs, 1, stride=stride, norm=norm, act=None)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.inner(x) + self.round(x))


class Excited(nn.Module):
    """Squeeze and excitation: weights channels by their means."""

    def __init__(self, size):
        super().__init__()
        self.weigh = nn.Sequential(nn.Linear(size, 4), nn.ReLU(), nn.Linear(4, size), nn.Sigmoid())

    def forward(self, x):
        return x * self.weigh(x.mean((2, 3)))[:, :, None, None]


class Densely(nn.Module):
    """Densely connected convolutions."""

    def __init__(self, inputs=1, growth=5, layers=3, outputs=4):
        super().__init__()
        self.layers = nn.ModuleList(conv(inputs + growth * number, growth) for number in range(layers))
        self.pool, self.head = nn.AdaptiveMaxPool2d(2), nn.Linear(4 * (inputs + growth * layers), outputs)

    def forward(self, x):
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return self.head(self.pool(x).flatten(1))


class Unet(nn.Module):
    """A U-Net of one level."""

    def __init__(self, norm=nn.BatchNorm2d):
        super().__init__()
        self.fine, self.coarse = conv(1, 8, norm=norm), conv(8, 16, stride=2, norm=norm)
        self.up, self.join, self.head = nn.ConvTranspose2d(16, 8, 2, 2), conv(16, 8, norm=norm), nn.Conv2d(8, 3, 1)

    def forward(self, x):
        fine = self.fine(x)
        return self.head(self.join(torch.cat([fine, self.up(self.coarse(fine))], 1)))


class Finder(nn.Module):
    """The mean position of an attention map."""

    def __init__(self):
        super().__init__()
        self.map = nn.Sequential(conv(1, 8), conv(8, 8), nn.Conv2d(8, 1, 1))
        self.register_buffer("places", (torch.arange(10) - 5) / 5)

    def forward(self, x):
        share = self.map(x).flatten(1).softmax(1).view(-1, 10, 10)
        return torch.stack([(share.sum(2) * self.places).sum(1), (share.sum(1) * self.places).sum(1)], 1)


class Mixer(nn.Module):
    """An MLP mixer: fully connected layers over patches and over channels in turn."""

    def __init__(self, patches=9, size=24, outputs=4):
        super().__init__()
        self.stem = nn.Conv2d(1, size, 4, 4)
        self.over_patches = nn.ModuleList(
            Residual(nn.Sequential(nn.LayerNorm(patches), dense(patches, 16, patches, act=nn.GELU))) for _ in range(2)
        )
        self.over_channels = nn.ModuleList(
            Residual(nn.Sequential(nn.LayerNorm(size), dense(size, 32, size, act=nn.GELU))) for _ in range(2)
        )
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, outputs)

    def forward(self, x):
        x = self.stem(x).flatten(2)
        for patches, channels in zip(self.over_patches, self.over_channels, strict=True):
            x = channels(patches(x).transpose(1, 2)).transpose(1, 2)
        return self.head(self.norm(x.mean(2)))


def flat(*layers, size, outputs):
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(size, outputs))


def resnet(norm=nn.BatchNorm2d):
    return flat(conv(1, 8, norm=norm), StepBlock(8, 8, norm=norm), StepBlock(8, 16, 2, norm), nn.AdaptiveMaxPool2d(1),
                size=16, outputs=4)  # fmt: skip


def lenet():
    """Return convolutions with tanh and average pooling."""
    return flat(nn.Conv2d(1, 6, 3), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 12, 3), nn.Tanh(), nn.Flatten(),
                nn.Linear(108, 32), nn.Tanh(), size=32, outputs=4)  # fmt: skip


def separable():
    def pair(inputs, outputs):
        depthwise = conv(inputs, inputs, groups=inputs, norm=None, act=None)
        return [depthwise, conv(inputs, outputs, 1, norm=lambda size: nn.GroupNorm(3, size))]

    return flat(conv(3, 12), *pair(12, 12), *pair(12, 18), nn.AdaptiveAvgPool2d(1), size=18, outputs=4)


def excited():
    return flat(conv(3, 12, act=nn.SiLU), Excited(12), conv(12, 12, stride=2, act=nn.SiLU), Excited(12),
                nn.AdaptiveAvgPool2d(1), size=12, outputs=4)  # fmt: skip


def enlarged():
    layers = conv(1, 12, norm=None, act=nn.PReLU), conv(12, 12, norm=None, act=nn.PReLU), nn.Conv2d(12, 4, 3, padding=1)
    return nn.Sequential(*layers, nn.PixelShuffle(2))


def moving():
    return flat(nn.Conv3d(1, 8, 3, padding=1), nn.BatchNorm3d(8), nn.ReLU(), nn.MaxPool3d((1, 2, 2)),
                nn.Conv3d(8, 12, 3, padding=(0, 1, 1)), nn.ReLU(), nn.AdaptiveMaxPool3d(1),
                size=12, outputs=4)  # fmt: skip


def along(kernels, size=12, outputs=2, act=nn.ReLU):
    """Return convolutions along a series, with pooling."""
    layers, inputs = [], 1
    for kernel in kernels:
        layers += [nn.Conv1d(inputs, size, kernel, padding=kernel // 2), nn.BatchNorm1d(size), act(), nn.MaxPool1d(2)]
        inputs = size
    return flat(*layers, nn.AdaptiveMaxPool1d(3), size=3 * size, outputs=outputs)


def dilated():
    """Return residual dilated convolutions."""

    def part(dilation):
        return Residual(nn.Sequential(nn.Conv1d(12, 12, 3, padding=dilation, dilation=dilation), nn.ELU()))

    return flat(nn.Conv1d(1, 12, 5, padding=2), *map(part, (1, 2, 4, 8)), nn.AdaptiveMaxPool1d(1), size=12, outputs=2)


def spectral():
    """Return a network over the amplitudes of frequencies."""
    return nn.Sequential(Apply(lambda x: torch.fft.rfft(x[:, 0]).abs() / 4), dense(21, 32, 5))


def by_pixel(scores, y):
    """Cross entropy of pixels; those of disc and square count twice."""
    return functional.cross_entropy(scores, y, weight=torch.tensor([1.0, 2.0, 2.0]))


PICTURE_TASKS = {
    "shapes": Task(shapes, resnet, nn.CrossEntropyLoss, 1e-2),
    "shapes, densely": Task(shapes, Densely, nn.CrossEntropyLoss, 1e-2),
    "shapes, as once": Task(shapes, lenet, nn.CrossEntropyLoss, 1e-2, 120),
    "shapes, mixed": Task(shapes, Mixer, nn.CrossEntropyLoss, 5e-3),
    "weaves": Task(textures, separable, nn.CrossEntropyLoss, 1e-2),
    "textures, weighed": Task(textures, excited, nn.CrossEntropyLoss, 1e-2),
    "spots": Task(spots, Finder, nn.SmoothL1Loss, 1e-2),
    "spots, flat": Task(spots, lambda: flat(conv(1, 8), conv(8, 8), size=800, outputs=2), nn.MSELoss, 3e-3),
    "cells": Task(cells, Unet, lambda: OwnLoss(by_pixel), 1e-2),
    "hills": Task(hills, enlarged, nn.L1Loss, 5e-3),
    "clips": Task(clips, moving, nn.CrossEntropyLoss, 1e-2),
    "beats": Task(beats, lambda: along((5, 5)), lambda: nn.CrossEntropyLoss(torch.tensor([1.0, 3.0])), 1e-2, 100),
    "beats, dilated": Task(beats, dilated, nn.CrossEntropyLoss, 1e-2, 80),
    "chords": Task(chords, lambda: along((7, 5), 16, 5, nn.LeakyReLU), nn.BCEWithLogitsLoss, 1e-2, 100),
    "chords, by frequency": Task(chords, spectral, nn.MultiLabelSoftMarginLoss, 1e-2),
}
