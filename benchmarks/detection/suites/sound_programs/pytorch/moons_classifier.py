import torch
from sklearn.datasets import make_circles
from sklearn.model_selection import train_test_split
from torch import nn

X, y = make_circles(1000, noise=0.03, random_state=42)
X = torch.from_numpy(X).float()
y = torch.from_numpy(y).float()
a, b, c, d = train_test_split(X, y, test_size=0.2, random_state=42)
torch.manual_seed(42)


class CircleModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer_1 = nn.Linear(2, 10)
        self.layer_2 = nn.Linear(10, 10)
        self.layer_3 = nn.Linear(10, 1)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.layer_3(self.relu(self.layer_2(self.relu(self.layer_1(x)))))


m = CircleModel()
loss_fn = nn.BCEWithLogitsLoss()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for epoch in range(1000):
    m.train()
    l = m(a).squeeze()
    loss = loss_fn(l, c)
    opt.zero_grad()
    loss.backward()
    opt.step()
    m.eval()
    with torch.inference_mode():
        t = m(b).squeeze()
        tl = loss_fn(t, d)
    if epoch % 100 == 0:
        print(epoch, loss.item(), tl.item(), ((t > 0) == d).float().mean().item())
