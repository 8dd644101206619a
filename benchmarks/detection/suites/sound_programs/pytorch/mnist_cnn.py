import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, 1, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(288, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        x = torch.flatten(self.dropout1(x), 1)
        x = self.dropout2(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=1)


torch.manual_seed(1)
d = load_digits()
x = torch.tensor(d.images / 16.0, dtype=torch.float32)[:, None]
y = torch.tensor(d.target)
x = (x - 0.3053) / 0.3763
p = torch.randperm(len(x))
x, y = x[p], y[p]
train = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=64, shuffle=True)
test = DataLoader(TensorDataset(x[1400:], y[1400:]), batch_size=200)
model = Net()
opt = torch.optim.Adadelta(model.parameters(), lr=1.0)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.7)
for epoch in range(8):
    model.train()
    for a, b in train:
        opt.zero_grad()
        loss = F.nll_loss(model(a), b)
        loss.backward()
        opt.step()
    model.eval()
    s = c = 0
    with torch.no_grad():
        for a, b in test:
            o = model(a)
            s += F.nll_loss(o, b, reduction="sum").item()
            c += (o.argmax(1) == b).sum().item()
    print(epoch, s / 397, c / 397)
    sched.step()
