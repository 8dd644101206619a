import torch
from torch import nn

torch.manual_seed(42)
X = torch.arange(0, 1, 0.02).unsqueeze(1)
y = 0.7 * X + 0.3
Xt, yt, Xv, yv = X[:40], y[:40], X[40:], y[40:]


class LinearRegressionModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear_layer = nn.Linear(1, 1)

    def forward(self, x):
        return self.linear_layer(x)


model = LinearRegressionModel()
loss_fn = nn.L1Loss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(200):
    model.train()
    loss = loss_fn(model(Xt), yt)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.inference_mode():
        tl = loss_fn(model(Xv), yv)
    if epoch % 20 == 0:
        print(epoch, loss.item(), tl.item())
