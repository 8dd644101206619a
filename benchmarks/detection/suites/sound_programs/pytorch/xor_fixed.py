# "My network can't learn XOR" - fixed: a non linearity in the hidden layer, more hidden units,
# BCEWithLogitsLoss, and Adam. Noisy XOR points, so that there is something to test on.
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(42)


def make(n):
    corners = torch.randint(0, 2, (n, 2)).float()
    labels = (corners[:, 0] != corners[:, 1]).float().unsqueeze(1)
    pts = (corners * 2 - 1) + 0.35 * torch.randn(n, 2)
    return pts, labels


x, y = make(400)
xt, yt = make(400)


class XOR(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(2, 8)
        self.l2 = nn.Linear(8, 1)

    def forward(self, x):
        return self.l2(torch.tanh(self.l1(x)))


net = XOR()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
for i in range(400):
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
    optimizer.step()
    if i % 50 == 0:
        print(i, loss.item())

with torch.no_grad():
    p = (torch.sigmoid(net(xt)) > 0.5).float()
    print("test loss", F.binary_cross_entropy_with_logits(net(xt), yt).item())
print(f"RESULT test_accuracy {(p == yt).float().mean().item():.4f}")
