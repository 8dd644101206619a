"""An estimator like those of scikit-learn learns digits with a network that returns probabilities of classes.

It takes the logarithm of the softmax for the NLL loss. With RMSprop, the probability of the right class of some sample
soon rounds to zero, its logarithm is infinite, and all weights become NaN (fixed: log_softmax of the logits).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)


class ClassifierModule(nn.Module):
    def __init__(self, hidden=128, dropout=0.3):
        super().__init__()
        self.hidden = nn.Linear(64, hidden)
        self.hidden2 = nn.Linear(hidden, hidden)
        self.output = nn.Linear(hidden, 10)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = self.dropout(functional.relu(self.hidden(x)))
        x = self.dropout(functional.relu(self.hidden2(x)))
        x = self.output(x)
        return functional.log_softmax(x, dim=-1) if FIXED else functional.softmax(x, dim=-1)


class Estimator:
    """fit / predict_proba / predict around a module, like scikit-learn."""

    def __init__(self, module, lr, max_epochs, batch_size=64, optimizer=torch.optim.RMSprop):
        self.module, self.lr, self.max_epochs = module, lr, max_epochs
        self.batch_size, self.optimizer = batch_size, optimizer

    def get_loss(self, y_pred, y_true):
        return functional.nll_loss(y_pred if FIXED else torch.log(y_pred), y_true)

    def fit(self, x, y):
        x, y = torch.as_tensor(x), torch.as_tensor(y)
        self.module_ = self.module()
        self.optimizer_ = self.optimizer(self.module_.parameters(), lr=self.lr)
        for epoch in range(1, self.max_epochs + 1):
            self.module_.train()
            losses = []
            for idx in torch.randperm(len(x)).split(self.batch_size):
                self.optimizer_.zero_grad()
                loss = self.get_loss(self.module_(x[idx]), y[idx])
                loss.backward()
                self.optimizer_.step()
                losses.append(loss.item())
            print(f"epoch {epoch:3d}  train_loss {np.mean(losses):.4f}")
        return self

    def predict_proba(self, x):
        self.module_.eval()
        with torch.no_grad():
            out = self.module_(torch.as_tensor(x))
        return (out.exp() if FIXED else out).numpy()

    def predict(self, x):
        return self.predict_proba(x).argmax(axis=1)


X, y = load_digits(return_X_y=True)
X = (X / X.max()).astype("float32")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=42)

net = Estimator(ClassifierModule, lr=0.01, max_epochs=30).fit(X_train, y_train)
print("RESULT test_accuracy", f"{accuracy_score(y_test, net.predict(X_test)):.4f}")
