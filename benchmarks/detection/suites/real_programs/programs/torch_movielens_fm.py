"""A factorisation machine with a deep part predicts ratings from 1 to 5 from sparse features.

With the default rate of Adam, its 10 epochs are far too few updates for the predictions to get away from 0 (fixed: 240
epochs).
"""

import sys

import numpy as np
import torch
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
np.random.seed(1024)
torch.manual_seed(1024)
torch.set_num_threads(1)

SIZES = {"movie_id": 40, "user_id": 60, "gender": 2, "age": 7, "occupation": 20}


def make_ratings(n, rng):
    users = {k: rng.integers(0, SIZES[k], SIZES["user_id"]) for k in ("gender", "age", "occupation")}
    movie = rng.integers(0, SIZES["movie_id"], n)
    user = rng.integers(0, SIZES["user_id"], n)
    quality = rng.normal(0, 0.9, SIZES["movie_id"])
    kindness = rng.normal(0, 0.6, SIZES["user_id"])
    taste = rng.normal(0, 0.4, (SIZES["movie_id"], 2))
    score = 3.5 + quality[movie] + kindness[user] + taste[movie, users["gender"][user]] + rng.normal(0, 0.45, n)
    rating = np.clip(np.round(score), 1, 5)
    x = np.stack([movie, user, users["gender"][user], users["age"][user], users["occupation"][user]], 1)
    return x, rating.astype(np.float32)


class DeepFM(nn.Module):
    def __init__(self, sizes, dim=4, hidden=(32, 32), init_std=0.0001):
        super().__init__()
        self.linear = nn.ModuleList([nn.Embedding(s, 1) for s in sizes])
        self.embed = nn.ModuleList([nn.Embedding(s, dim) for s in sizes])
        for e in list(self.linear) + list(self.embed):
            nn.init.normal_(e.weight, 0, init_std)
        layers, width = [], dim * len(sizes)
        for h in hidden:
            layers += [nn.Linear(width, h), nn.ReLU()]
            width = h
        self.dnn = nn.Sequential(*layers)
        self.dnn_out = nn.Linear(width, 1, bias=False)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        lin = sum(e(x[:, i]) for i, e in enumerate(self.linear))
        v = torch.stack([e(x[:, i]) for i, e in enumerate(self.embed)], 1)
        fm = 0.5 * (v.sum(1).pow(2) - v.pow(2).sum(1)).sum(1, keepdim=True)
        deep = self.dnn_out(self.dnn(v.flatten(1)))
        return (lin + fm + deep + self.bias).squeeze(1)


def fit(model, x, y, batch_size, epochs, validation_split=0.2, l2=1e-4):
    cut = int(len(x) * (1 - validation_split))
    xt, yt, xv, yv = x[:cut], y[:cut], x[cut:], y[cut:]
    optim = torch.optim.Adam(model.parameters(), weight_decay=l2)
    for epoch in range(epochs):
        order = torch.randperm(len(xt))
        total = 0.0
        for i in range(0, len(xt), batch_size):
            idx = order[i : i + batch_size]
            optim.zero_grad()
            loss = functional.mse_loss(model(xt[idx]), yt[idx])
            loss.backward()
            optim.step()
            total += loss.item() * len(idx)
        with torch.no_grad():
            val = functional.mse_loss(model(xv), yv).item()
        if epochs <= 20 or epoch % 20 == 19:
            print(f"Epoch {epoch + 1}/{epochs} - loss: {total / len(xt):.4f} - val_mse: {val:.4f}")


x, y = make_ratings(1500, np.random.default_rng(7))
xtr, xte, ytr, yte = train_test_split(x, y, test_size=0.2, random_state=2020)
xtr, xte, ytr = torch.from_numpy(xtr), torch.from_numpy(xte), torch.from_numpy(ytr)
model = DeepFM(list(SIZES.values()))
fit(model, xtr, ytr, batch_size=256, epochs=240 if fixed else 10)
with torch.no_grad():
    pred_ans = model(xte).numpy()
print("predictions", np.round(pred_ans[:8], 3), "ratings", yte[:8])
print("RESULT test_MSE", round(mean_squared_error(yte, pred_ans), 4))
