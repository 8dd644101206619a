"""A small network reads digits, in a loop of one's own over mini-batches of an array.

The rows of the training array are shuffled with random.shuffle, which swaps views of a NumPy array: rows are
overwritten and others repeated, more with each epoch, until few different samples are left (fixed: np.random.shuffle).
"""

import itertools
import random
import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(3)
np.random.seed(3)
random.seed(3)

digits = load_digits()
table = np.hstack([digits.data / 16.0, digits.target[:, None]]).astype(np.float32)
np.random.shuffle(table)
training_data, evaluation_data = table[:1200].copy(), table[1200:].copy()


class Network:
    def __init__(self, sizes):
        layers = []
        for n_in, n_out in itertools.pairwise(sizes):
            layers += [nn.Linear(n_in, n_out), nn.ReLU()]
        self.net = nn.Sequential(*layers[:-1])
        self.cost = nn.CrossEntropyLoss()

    def sgd(self, training_data, epochs, mini_batch_size, eta, lmbda, evaluation_data):
        optimizer = torch.optim.SGD(self.net.parameters(), lr=eta, momentum=0.9, weight_decay=lmbda)
        n = len(training_data)
        for j in range(epochs):
            if FIXED:
                np.random.shuffle(training_data)
            else:
                random.shuffle(training_data)
            for k in range(0, n, mini_batch_size):
                self.update_mini_batch(training_data[k : k + mini_batch_size], optimizer)
            cost, acc = self.evaluate(training_data)
            val_cost, val_acc = self.evaluate(evaluation_data)
            print(
                f"Epoch {j}: training cost {cost:.4f} acc {acc:.3f}, evaluation cost {val_cost:.4f} acc {val_acc:.3f}"
            )

    def update_mini_batch(self, batch, optimizer):
        x, y = torch.tensor(batch[:, :-1]), torch.tensor(batch[:, -1]).long()
        optimizer.zero_grad()
        loss = self.cost(self.net(x), y)
        loss.backward()
        optimizer.step()

    def evaluate(self, data):
        x, y = torch.tensor(data[:, :-1]), torch.tensor(data[:, -1]).long()
        with torch.no_grad():
            out = self.net(x)
        return self.cost(out, y).item(), (out.argmax(1) == y).float().mean().item()


net = Network([64, 32, 10])
net.sgd(training_data, 24, 80, 0.05, 1e-4, evaluation_data)
print("RESULT evaluation_accuracy", f"{net.evaluate(evaluation_data)[1]:.4f}")
