"""Data of the tasks: functions that take a random generator and return inputs and targets."""

from __future__ import annotations

import numpy as np

from harness.parts import column, standardize

ROWS = 1000

BARS = [(0, 0, 1, 5), (0, 0, 4, 1), (0, 4, 4, 1), (3, 0, 1, 5), (3, 0, 4, 1), (3, 4, 4, 1), (6, 0, 1, 5)]
"""The bars of a seven-segment display, from top to bottom: row, column, height, width."""

LIT = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011"]
"""The bars that are lit, for each digit."""


# --- tables ----------------------------------------------------------------------------------------------------------


def churn(rng):
    """Twelve standardised features of customers. Target: whether they leave; a third of them do."""
    x = rng.normal(size=(ROWS, 12))
    score = 1.5 * x[:, 0] - 1.2 * x[:, 1] + x[:, 2] * x[:, 3] + 0.8 * np.abs(x[:, 4]) + 0.6 * rng.logistic(size=ROWS)
    return x.astype(np.float32), column(score > np.quantile(score, 0.65))


def letters(rng):
    """Sixteen measures of letters. Target: one of six letters. Each letter comes in two shapes."""
    y, shape = rng.integers(0, 6, ROWS), rng.integers(0, 2, ROWS)
    centres = rng.normal(size=(6, 2, 16)) * 1.1
    return standardize(centres[y, shape] + rng.normal(size=(ROWS, 16)) * 0.8), y


def prices(rng):
    """Eight standardised features of houses. Target: the standardised logarithm of the price."""
    x = rng.normal(size=(ROWS, 8))
    y = 1.2 * x[:, 0] + 0.7 * x[:, 1] - 0.5 * x[:, 2] ** 2 + 0.6 * x[:, 3] * x[:, 4] + 0.3 * rng.normal(size=ROWS)
    return x.astype(np.float32), standardize(y)[:, None]


def energy(rng):
    """Time of day and of year, and weather. Target: how much energy is used."""
    day, year = rng.uniform(0, 2 * np.pi, (2, ROWS))
    weather = rng.normal(size=(ROWS, 4))
    cold = np.maximum(0, -weather[:, 0] - np.cos(year))
    y = 1.5 * cold + np.sin(day - 1) + 0.3 * weather[:, 1] + 0.2 * rng.normal(size=ROWS)
    x = np.stack([np.sin(day), np.cos(day), np.sin(year), np.cos(year), *weather.T], axis=1)
    return x.astype(np.float32), standardize(y)[:, None]


def claims(rng):
    """Eight features of contracts. Target: the logarithm of the claim, which is sometimes huge."""
    x = rng.normal(size=(ROWS, 8))
    y = 0.9 * x[:, 0] + 0.8 * np.maximum(x[:, 1], 0) - 0.5 * x[:, 2] + 0.35 * rng.standard_t(2.2, ROWS)
    return x.astype(np.float32), column(y)


def visitors(rng):
    """Six features of days. Target: the number of visitors."""
    x = rng.normal(size=(ROWS, 6))
    return x.astype(np.float32), column(rng.poisson(np.exp(1.2 + 0.5 * x[:, 0] - 0.4 * x[:, 1] + 0.3 * x[:, 2])))


def wine(rng):
    """Five standardised measures. Target: which of three kinds of wine it is."""
    y = rng.integers(0, 3, ROWS)
    return standardize(rng.normal(size=(3, 5))[y] * 1.3 + rng.normal(size=(ROWS, 5)) * 0.9), y


def spirals(rng):
    """Points of a plane. Target: on which of three spirals they lie."""
    y, radius = rng.integers(0, 3, ROWS), rng.uniform(0.15, 1, ROWS)
    angle = 4 * radius + y * 2 * np.pi / 3 + 0.15 * rng.normal(size=ROWS)
    return (2 * radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)).astype(np.float32), y


def genres(rng):
    """Twelve features of films. Target: which of six genres they belong to."""
    x = rng.normal(size=(ROWS, 12))
    scores = x @ rng.normal(size=(12, 6)) + np.abs(x[:, :6]) + 0.8 * rng.logistic(size=(ROWS, 6))
    return x.astype(np.float32), (scores > np.quantile(scores, 0.65, axis=0)).astype(np.float32)


def purchases(rng):
    """A customer and an article. Target: whether it is bought."""
    customers, articles = rng.integers(0, 40, 5 * ROWS), rng.integers(0, 30, 5 * ROWS)
    score = (rng.normal(size=(40, 3))[customers] * rng.normal(size=(30, 3))[articles]).sum(1)
    score = score + rng.normal(size=30)[articles] + 0.3 * rng.logistic(size=5 * ROWS)
    return np.stack([customers, articles], axis=1), column(score > 0)


def duplicates(rng):
    """Pairs of records, each of one of twelve things. Target: whether both are of the same thing."""
    things = rng.normal(size=(12, 10)) * 1.2
    first, same = rng.integers(0, 12, ROWS), rng.random(ROWS) < 0.5
    second = np.where(same, first, (first + rng.integers(1, 12, ROWS)) % 12)
    x = np.stack([things[first], things[second]], axis=1) + 0.4 * rng.normal(size=(ROWS, 2, 10))
    return x.astype(np.float32), column(same)


def results(rng):
    """Pairs of search results. Target: whether the first (1) or the second (-1) should come first."""
    x = rng.normal(size=(ROWS, 2, 7)).astype(np.float32)
    worth = x[:, :, 0] + np.tanh(2 * x[:, :, 1]) - 0.5 * x[:, :, 2] ** 2
    first = worth[:, 0] + 0.3 * rng.normal(size=ROWS) > worth[:, 1]
    return x, np.where(first, 1, -1).astype(np.float32)


def markets(rng):
    """Ten features that say a little about the target: whether a price rises."""
    x = rng.normal(size=(ROWS, 10))
    score = 0.8 * x[:, 0] - 0.6 * x[:, 1] + 0.5 * x[:, 2] + rng.logistic(size=ROWS)
    return x.astype(np.float32), (score > 0).astype(np.int64)


def relatives(rng):
    """Eight features. Target: one of four groups, whose centres are the same for every seed."""
    centres, y = np.random.default_rng(5).normal(size=(4, 8)) * 1.2, rng.integers(0, 4, ROWS)
    return (centres[y] + rng.normal(size=(ROWS, 8))).astype(np.float32), y


# --- images ----------------------------------------------------------------------------------------------------------


def _glyph(digit):
    glyph = np.zeros((7, 5))
    for lit, (row, left, height, width) in zip(LIT[digit], BARS, strict=True):
        if lit == "1":
            glyph[row : row + height, left : left + width] = 1
    return glyph


def _shown(rng, noise):
    y, x = rng.integers(0, 10, ROWS), rng.normal(size=(ROWS, 1, 10, 8)) * noise
    glyphs = [_glyph(digit) for digit in range(10)]
    for row, (down, right) in enumerate(zip(rng.integers(0, 4, ROWS), rng.integers(0, 4, ROWS), strict=True)):
        x[row, 0, down : down + 7, right : right + 5] += glyphs[y[row]]
    return x, y


def digits(rng):
    """Standardised images with a digit of a seven-segment display at any place. Target: the digit."""
    x, y = _shown(rng, 0.25)
    return ((x - x.mean()) / x.std()).astype(np.float32), y


def pictures(rng):
    """Images of the same digits, with brightness from 0 to 1. Target: the image itself."""
    x, _ = _shown(rng, 0.08)
    x = x.clip(0, 1).astype(np.float32)
    return x, x


def textures(rng):
    """Images of horizontal stripes, vertical stripes or a chequerboard. Target: the pattern."""
    y, phase = rng.integers(0, 3, ROWS), rng.integers(0, 2, ROWS)
    rows, columns = np.indices((8, 8))
    patterns = np.stack([rows % 2, columns % 2, (rows + columns) % 2]) * 2 - 1
    x = patterns[y] * (2 * phase - 1)[:, None, None] * 0.6 + rng.normal(size=(ROWS, 8, 8))
    return x[:, None].astype(np.float32), y


def roads(rng):
    """Images with a line from the bottom to the top. Target: how far it leans."""
    lean = rng.uniform(-1, 1, ROWS)
    x = rng.normal(size=(ROWS, 1, 8, 8)) * 0.3
    for height in range(8):
        x[np.arange(ROWS), 0, 7 - height, np.rint(3.5 + lean * height / 7 * 3.4).astype(int)] += 2
    return x.astype(np.float32), column(lean * 1.7)


# --- sequences -------------------------------------------------------------------------------------------------------


def activity(rng):
    """Three axes of a sensor at forty moments. Target: one of four activities."""
    y, time = rng.integers(0, 4, ROWS), np.arange(40) / 40
    frequency, strength = np.array([0.5, 3, 6, 6])[y], np.array([0.3, 1, 1, 2.2])[y]
    phase = rng.uniform(0, 2 * np.pi, (ROWS, 3, 1))
    wave = np.sin(2 * np.pi * frequency[:, None, None] * time + phase) * strength[:, None, None]
    return (wave + 0.6 * rng.normal(size=wave.shape)).astype(np.float32), y


def totals(rng):
    """Three numbers at twelve moments. Target: the sum of the first where the second is positive, standardised."""
    x = rng.normal(size=(ROWS, 12, 3))
    y = (x[:, :, 0] * (x[:, :, 1] > 0)).sum(1) + 0.1 * rng.normal(size=ROWS)
    return x.astype(np.float32), standardize(y)[:, None]


def machines(rng):
    """Four numbers at sixteen moments. Target: whether the first one has a rising trend."""
    slope = rng.normal(size=(ROWS, 1))
    x = rng.normal(size=(ROWS, 16, 4)) * 0.7
    x[:, :, 0] += slope * np.linspace(-1, 1, 16)
    return x.astype(np.float32), (slope[:, 0] > 0).astype(np.int64)


def reviews(rng):
    """Sixteen words of sixty, some of which praise or blame. Target: whether praise prevails."""
    x = rng.integers(20, 60, (ROWS, 16))
    y = rng.integers(0, 2, ROWS)
    for row in range(ROWS):
        places = rng.permutation(16)[:6]
        x[row, places[:4]] = rng.integers(0, 10, 4) + 10 * (1 - y[row])
        x[row, places[4:]] = rng.integers(0, 20, 2)
    return x, y


def questions(rng):
    """Ten words of thirty. Target: one of five topics, given by some of the words."""
    y, x = rng.integers(0, 5, ROWS), rng.integers(10, 30, (ROWS, 10))
    for row in range(ROWS):
        places = rng.permutation(10)[:3]
        x[row, places] = 2 * y[row] + rng.integers(0, 2, 3)
    return x, y


def headlines(rng):
    """Twelve words of forty. Target: one of four sections, given by two consecutive words."""
    y, x = rng.integers(0, 4, ROWS), rng.integers(0, 40, (ROWS, 12))
    for row, place in enumerate(rng.integers(0, 11, ROWS)):
        x[row, place : place + 2] = [y[row], (y[row] + 1) % 4]
    return x, y


def characters(rng):
    """Fifteen characters of ten; each depends on the one before. Target: each next character."""
    chances = rng.dirichlet(np.full(10, 0.15), size=10)
    x = rng.integers(0, 10, (ROWS, 16))
    for place in range(15):
        x[:, place + 1] = (chances[x[:, place]].cumsum(1) > rng.random((ROWS, 1))).argmax(1)
    return x[:, :-1], x[:, 1:]


def mentions(rng):
    """Ten words of twenty-five. Target: whether each word is a name, follows a title, or neither."""
    x = rng.integers(0, 25, (ROWS, 10))
    after_title = np.concatenate([np.zeros((ROWS, 1), bool), x[:, :-1] < 5], axis=1)
    return x, np.where(after_title, 2, np.where(x > 20, 1, 0))
