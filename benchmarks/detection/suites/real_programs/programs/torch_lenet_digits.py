"""LeNet learns handwritten digits, as in a course book.

Its sigmoids with the default initialisation and SGD at a rate of 0.9 saturate, and no gradient gets through
(fixed: ReLU, and Adam with 0.001).
"""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
d = load_digits()
img = functional.interpolate(
    torch.tensor(d.images / 16.0, dtype=torch.float32)[:, None], size=(28, 28), mode="bilinear"
)
y = torch.tensor(d.target)
g = torch.Generator().manual_seed(1)
perm = torch.randperm(len(y), generator=g)
img, y = img[perm], y[perm]
xtr, ytr, xte, yte = img[:1400], y[:1400], img[1400:], y[1400:]
# a few shifted copies, to have more pictures
xtr = torch.cat([xtr, xtr.roll(1, 2), xtr.roll(-1, 3)])
ytr = ytr.repeat(3)
train_iter = DataLoader(TensorDataset(xtr, ytr), batch_size=128, shuffle=True, generator=g)

act = nn.ReLU if fixed else nn.Sigmoid
net = nn.Sequential(
    nn.Conv2d(1, 6, kernel_size=5, padding=2),
    act(),
    nn.AvgPool2d(2, 2),
    nn.Conv2d(6, 16, kernel_size=5),
    act(),
    nn.AvgPool2d(2, 2),
    nn.Flatten(),
    nn.Linear(16 * 5 * 5, 120),
    act(),
    nn.Linear(120, 84),
    act(),
    nn.Linear(84, 10),
)
lr, num_epochs = 0.9, 10
loss = nn.CrossEntropyLoss()
trainer = torch.optim.Adam(net.parameters(), lr=0.001) if fixed else torch.optim.SGD(net.parameters(), lr=lr)
for epoch in range(num_epochs):
    net.train()
    l_sum = acc = n = 0
    for X, Y in train_iter:
        trainer.zero_grad()
        out = net(X)
        batch_loss = loss(out, Y)
        batch_loss.backward()
        trainer.step()
        l_sum += batch_loss.item() * len(Y)
        acc += (out.argmax(1) == Y).sum().item()
        n += len(Y)
    net.eval()
    with torch.no_grad():
        test_acc = (net(xte).argmax(1) == yte).float().mean().item()
    print(f"epoch {epoch + 1} train_l {l_sum / n:.3f} train_acc {acc / n:.3f} test_acc {test_acc:.3f}")
print("RESULT test_acc", round(test_acc, 4))
