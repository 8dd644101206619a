"""Linear regression on two inputs by one ``nn.Linear`` and RMSprop: y = 5 x1 + 3 x2 + noise.

The result of ``squeeze`` is not kept, so outputs of shape (100, 1) are compared with targets of shape (100,), each
with each (fixed: it is kept).
"""

import sys

import numpy as np
import torch

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
np.random.seed(0)


class Net(torch.nn.Module):
    def __init__(self, input_dim, output_dim):
        super().__init__()
        self.layer1 = torch.nn.Linear(input_dim, output_dim, bias=False)

    def forward(self, x):
        x = self.layer1(x)
        if fixed:
            x = x.squeeze(1)
        else:
            x.squeeze(1)
        return x


sample_size, input_dim, output_dim = 10000, 2, 1
epoch, bs = 30, 100

data = np.random.randn(sample_size, 3)
data[:, :2] = data[:, :2] * 100
data[:, 2] = 5 * data[:, 0] + 3 * data[:, 1] + np.random.randn(sample_size)
data = torch.Tensor(data)
train_x = data[:8000, :input_dim]
train_y = data[:8000, input_dim]
test_x, test_y = data[8000:, :input_dim], data[8000:, input_dim]

net = Net(input_dim, output_dim)
criterion = torch.nn.MSELoss()
optimizer = torch.optim.RMSprop(net.parameters(), lr=0.01)

for e in range(epoch):
    order = torch.randperm(len(train_x))
    total = 0.0
    for i in range(0, len(train_x), bs):
        index = order[i : i + bs]
        optimizer.zero_grad()
        out = net(train_x[index])
        loss = criterion(out, train_y[index])
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch", e, "loss", total / (len(train_x) // bs))

print("weights", net.layer1.weight.data)
with torch.no_grad():
    error = (net(test_x).reshape(-1) - test_y).abs().mean().item()
print("RESULT test_mean_absolute_error", f"{error:.4f}")
