"""Layers build their weights from tensor train cores by NumPy, so only biases are trained (fixed: by PyTorch)."""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(3)


class Tensor:
    """a (very) small tensor train of three cores"""

    def __init__(self, shape, ranks=(8, 8)):
        r = (1, *ranks, 1)
        self.shape = shape
        self.cores = [torch.randn(r[k], shape[k], r[k + 1]) / np.sqrt(r[k + 1]) for k in range(len(shape))]

    def full(self):
        out = self.cores[0]
        for core in self.cores[1:]:
            out = torch.tensordot(out, core, dims=1)
        return out.squeeze(0).squeeze(-1)

    def numpy(self):
        return self.full().detach().numpy()


class TTLinear(nn.Module):
    def __init__(self, n_in, n_out, shape):
        super().__init__()
        assert n_in * n_out == np.prod(shape)
        self.n_in, self.n_out = n_in, n_out
        self.weight = Tensor(shape)
        cores = []
        for c_i, core in enumerate(self.weight.cores):
            parameter = nn.Parameter(core)
            self.register_parameter(f"tt_core_{c_i}", parameter)
            cores.append(parameter)
        self.weight.cores = cores
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        w = self.weight.full() if fixed else torch.as_tensor(self.weight.numpy())
        w = w.reshape(self.n_out, self.n_in) / np.sqrt(self.n_in)
        return functional.linear(x, w, self.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = TTLinear(64, 64, (16, 16, 16))
        self.l2 = TTLinear(64, 64, (16, 16, 16))
        self.l3 = TTLinear(64, 10, (8, 8, 10))

    def forward(self, x):
        x = functional.relu(self.l1(x))
        x = functional.relu(self.l2(x))
        return self.l3(x)


d = load_digits()
x_train, x_val, y_train, y_val = train_test_split(d.data, d.target, test_size=0.25, random_state=0, stratify=d.target)
sc = StandardScaler().fit(x_train)
x_train, x_val = (torch.tensor(sc.transform(a), dtype=torch.float32) for a in (x_train, x_val))
y_train, y_val = torch.tensor(y_train), torch.tensor(y_val)

model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-5)
print(sum(p.numel() for p in model.parameters()), "parameters")
for epoch in range(18):
    for idx in torch.randperm(len(x_train)).split(32):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        out = model(x_val)
        val_loss, val_acc = functional.cross_entropy(out, y_val).item(), (out.argmax(1) == y_val).float().mean().item()
    if epoch % 2 == 1:
        print(f"epoch {epoch + 1}  val loss {val_loss:.4f}  val acc {val_acc:.4f}")

print("RESULT val_accuracy", f"{val_acc:.4f}")
