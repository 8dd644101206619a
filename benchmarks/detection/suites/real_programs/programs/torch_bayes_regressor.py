"""A Bayesian network with two variational linear layers fits a value to a standardised table.

There is no activation between the two layers, so that the network is linear and cannot fit the curved target (fixed: a
ReLU between the layers).
"""

import math
import sys

import numpy as np
import torch
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)
np.random.seed(0)

X, y = make_friedman1(n_samples=1600, n_features=8, noise=0.5, random_state=0)
y = y.reshape(-1, 1)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=42)
x_scaler, y_scaler = StandardScaler().fit(X_train), StandardScaler().fit(y_train)
X_train, X_test = (torch.tensor(x_scaler.transform(a)).float() for a in (X_train, X_test))
y_train, y_test = (torch.tensor(y_scaler.transform(a)).float() for a in (y_train, y_test))


class BayesianLinear(nn.Module):
    def __init__(self, n_in, n_out, prior_sigma=0.5):
        super().__init__()
        bound = 1.0 / math.sqrt(n_in)
        self.w_mu = nn.Parameter(torch.empty(n_out, n_in).uniform_(-bound, bound))
        self.w_rho = nn.Parameter(torch.full((n_out, n_in), -5.0))
        self.b_mu = nn.Parameter(torch.empty(n_out).uniform_(-bound, bound))
        self.b_rho = nn.Parameter(torch.full((n_out,), -5.0))
        self.prior_sigma = prior_sigma

    def forward(self, x):
        w = self.w_mu + functional.softplus(self.w_rho) * torch.randn_like(self.w_mu)
        b = self.b_mu + functional.softplus(self.b_rho) * torch.randn_like(self.b_mu)
        return functional.linear(x, w, b)

    def kl(self):
        total = 0.0
        for mu, rho in ((self.w_mu, self.w_rho), (self.b_mu, self.b_rho)):
            sigma = functional.softplus(rho)
            total = (
                total
                + (torch.log(self.prior_sigma / sigma) + (sigma**2 + mu**2) / (2 * self.prior_sigma**2) - 0.5).sum()
            )
        return total


class BayesianRegressor(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.blinear1 = BayesianLinear(n_in, 64)
        self.blinear2 = BayesianLinear(64, n_out)

    def forward(self, x):
        x = self.blinear1(x)
        if FIXED:
            x = functional.relu(x)
        return self.blinear2(x)

    def sample_elbo(self, inputs, labels, criterion, sample_nbr, kl_weight):
        loss = 0.0
        for _ in range(sample_nbr):
            loss = loss + criterion(self(inputs), labels)
        return loss / sample_nbr + kl_weight * (self.blinear1.kl() + self.blinear2.kl())


def evaluate(regressor, inputs, labels, samples=50, std_multiplier=2):
    with torch.no_grad():
        preds = torch.stack([regressor(inputs) for _ in range(samples)])
    mean, std = preds.mean(0), preds.std(0)
    inside = ((mean - std_multiplier * std <= labels) & (mean + std_multiplier * std >= labels)).float().mean()
    return functional.mse_loss(mean, labels).item(), inside.item()


regressor = BayesianRegressor(X_train.shape[1], 1)
optimizer = torch.optim.Adam(regressor.parameters(), lr=0.005)
criterion = nn.MSELoss()
train_set = torch.utils.data.TensorDataset(X_train, y_train)
loader = torch.utils.data.DataLoader(train_set, batch_size=32, shuffle=True)

for epoch in range(1, 61):
    total = 0.0
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = regressor.sample_elbo(inputs, labels, criterion, sample_nbr=2, kl_weight=0.05 / len(train_set))
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 10 == 0:
        mse, inside = evaluate(regressor, X_test, y_test)
        print(f"epoch {epoch}  loss {total / len(loader):.4f}  test mse {mse:.4f}  in interval {inside:.2f}")

print("RESULT test_mse", f"{evaluate(regressor, X_test, y_test, samples=100)[0]:.4f}")
