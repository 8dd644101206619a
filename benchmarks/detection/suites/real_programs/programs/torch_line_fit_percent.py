"""A straight line is fitted by gradient descent.

The inputs are percentages from 0 to 100, for which a rate of 0.01 is too high, so the descent diverges to NaN
(fixed: inputs from 0 to 1).
"""

import sys

import numpy as np
import torch

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)


class LinearRegression:
    def __init__(self, n, lr=0.01, iterations=4000):
        self.w = torch.zeros(n, 1, requires_grad=True)
        self.c = torch.zeros(1, requires_grad=True)
        self.lr, self.iterations = lr, iterations

    def __call__(self, x):
        return x @ self.w + self.c

    def run(self, y, x):
        opt = torch.optim.SGD([self.w, self.c], lr=self.lr)
        for i in range(self.iterations):
            yhat = self(x)
            loss = ((yhat - y) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if i < 5 or i % 500 == 499:
                print(f"iteration {i} loss {loss.item():.5g} w {self.w.item():.5g} c {self.c.item():.5g}")
        return self.w, self.c


x = torch.tensor(rng.random((500, 1)) * 100, dtype=torch.float32)
y = 5 * x / 100 + 3 + torch.tensor(rng.normal(0, 0.1, (500, 1)), dtype=torch.float32)
xt = torch.tensor(rng.random((200, 1)) * 100, dtype=torch.float32)
yt = 5 * xt / 100 + 3
if fixed:
    x, xt = x / 100, xt / 100
algorithm = LinearRegression(1)
w, c = algorithm.run(y, x)
with torch.no_grad():
    rmse = ((algorithm(xt) - yt) ** 2).mean().sqrt().item()
print("RESULT rmse", round(rmse, 4))
