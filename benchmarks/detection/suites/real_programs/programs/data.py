"""Small offline data that stand in for what the published programs load."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits


def digits(size: int = 8, seed: int = 0):
    """Return images of numbers 0..255 and labels, shuffled: 1,400 to train with and 397 to evaluate."""
    images, labels = load_digits(return_X_y=True)
    images = np.kron(images.reshape(-1, 8, 8), np.ones((size // 8, size // 8))) * (255 / 16)
    order = np.random.default_rng(seed).permutation(len(images))
    images, labels = images[order].astype("float32"), labels[order]
    return (images[:1400], labels[:1400]), (images[1400:], labels[1400:])


def table(samples: int, features: int, classes: int = 2, seed: int = 0, noise: float = 0.3):
    """Return standardised columns and the class that a small random network gives each row."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(samples, features))
    scores = np.tanh(x @ rng.normal(size=(features, 12))) @ rng.normal(size=(12, classes))
    return x.astype("float32"), (scores + noise * rng.normal(size=scores.shape)).argmax(1)


def regression(samples: int, features: int, seed: int = 0):
    """Return columns and a target of mean 0 and deviation 1 that depends on them smoothly."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(samples, features))
    y = np.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + x[:, 3:] @ rng.normal(size=features - 3) / features
    y = y + 0.1 * rng.normal(size=samples)
    return x.astype("float32"), ((y - y.mean()) / y.std()).astype("float32")


def texts(samples: int, length: int, words: int, classes: int = 2, seed: int = 0):
    """Return sequences of word numbers 1..words-1, and the class that decides how often each word comes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=samples)
    frequencies = rng.dirichlet(np.full(words - 1, 0.3), size=classes)
    tokens = np.stack([rng.choice(words - 1, size=length, p=frequencies[label]) + 1 for label in labels])
    return tokens, labels


def characters(length: int, seed: int = 0):
    """Return a text of 27 characters, as numbers, in which each character depends on the one before."""
    rng = np.random.default_rng(seed)
    follows = rng.dirichlet(np.full(27, 0.1), size=27)
    text = [0]
    for _ in range(length - 1):
        text.append(rng.choice(27, p=follows[text[-1]]))
    return np.array(text)


def series(samples: int, length: int, seed: int = 0):
    """Return sine waves of random period and phase, and the value that comes next."""
    rng = np.random.default_rng(seed)
    steps = np.arange(length + 1)
    periods, phases = rng.uniform(8, 20, (samples, 1)), rng.uniform(0, 6, (samples, 1))
    waves = np.sin(2 * np.pi * steps / periods + phases) + 0.05 * rng.normal(size=(samples, length + 1))
    return waves[:, :-1, None].astype("float32"), waves[:, -1].astype("float32")
