"""A notebook of a course has a perceptron with dropout written from scratch, and tests it after every epoch.

The dropout follows a flag that is always true, so it is on in the test (fixed: it depends on the mode of the module).
"""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils import data

fixed = "--fixed" in sys.argv
torch.manual_seed(0)


def dropout_layer(x, dropout):
    assert 0 <= dropout <= 1
    if dropout == 1:
        return torch.zeros_like(x)
    mask = (torch.rand(x.shape) > dropout).float()
    return mask * x / (1.0 - dropout)


num_inputs, num_outputs, num_hiddens1, num_hiddens2 = 64, 10, 64, 64
dropout1, dropout2 = 0.5, 0.7


class Net(nn.Module):
    def __init__(self, is_training=True):
        super().__init__()
        self.is_training = is_training
        self.lin1 = nn.Linear(num_inputs, num_hiddens1)
        self.lin2 = nn.Linear(num_hiddens1, num_hiddens2)
        self.lin3 = nn.Linear(num_hiddens2, num_outputs)
        self.relu = nn.ReLU()

    def forward(self, x):
        use_dropout = self.training if fixed else self.is_training
        h1 = self.relu(self.lin1(x.reshape((-1, num_inputs))))
        if use_dropout:
            h1 = dropout_layer(h1, dropout1)
        h2 = self.relu(self.lin2(h1))
        if use_dropout:
            h2 = dropout_layer(h2, dropout2)
        return self.lin3(h2)


x, y = load_digits(return_X_y=True)
x = torch.tensor(x / 16, dtype=torch.float32)
x = x + 0.35 * torch.randn(x.shape, generator=torch.Generator().manual_seed(5))
y = torch.tensor(y)
order = torch.randperm(len(x), generator=torch.Generator().manual_seed(6))
x, y = x[order], y[order]
train_iter = data.DataLoader(data.TensorDataset(x[:1300], y[:1300]), batch_size=64, shuffle=True)
test_iter = data.DataLoader(data.TensorDataset(x[1300:], y[1300:]), batch_size=64)


def evaluate_accuracy(net, batches):
    net.eval()
    right = n = 0
    with torch.no_grad():
        for xb, yb in batches:
            right += (net(xb).argmax(1) == yb).sum().item()
            n += len(yb)
    return right / n


net = Net()
loss = nn.CrossEntropyLoss()
trainer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(30):
    net.train()
    total = 0
    for xb, yb in train_iter:
        batch_loss = loss(net(xb), yb)
        trainer.zero_grad()
        batch_loss.backward()
        trainer.step()
        total += batch_loss.item()
    test_acc = evaluate_accuracy(net, test_iter)
    print(f"epoch {epoch + 1}, loss {total / len(train_iter):.4f}, test acc {test_acc:.3f}")
accs = [evaluate_accuracy(net, test_iter) for _ in range(5)]
print("test accuracy, five times:", [f"{a:.4f}" for a in accs])
print("RESULT test_acc", f"{sum(accs) / 5:.4f}")
