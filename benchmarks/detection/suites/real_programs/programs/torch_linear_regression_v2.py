"""The optimizer of a second model is given the parameters of the first (fixed: those of the second)."""

import sys

import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(42)

weight, bias = 0.7, 0.3
x = torch.arange(0, 1, 0.01).unsqueeze(1)
y = weight * x + bias
order = torch.randperm(len(x))
x, y = x[order], y[order]
split = int(0.8 * len(x))
x_train, y_train = x[:split], y[:split]
x_test, y_test = x[split:], y[split:]


class LinearRegressionModel(nn.Module):
    """A line, its parameters by hand."""

    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(1))
        self.bias = nn.Parameter(torch.randn(1))

    def forward(self, x):
        return self.weights * x + self.bias


class LinearRegressionModel2(nn.Module):
    """A line, by ``nn.Linear``."""

    def __init__(self):
        super().__init__()
        self.linear_layer = nn.Linear(in_features=1, out_features=1)

    def forward(self, x):
        return self.linear_layer(x)


def fit(model, loss_fn, optimizer, epochs):
    for epoch in range(epochs):
        model.train()
        y_pred = model(x_train)
        loss = loss_fn(y_pred, y_train)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        model.eval()
        with torch.inference_mode():
            test_loss = loss_fn(model(x_test), y_test)
        if epoch % 50 == 0:
            print(f"Epoch: {epoch} | Loss: {loss:.5f} | Test loss: {test_loss:.5f}")
    return test_loss.item()


model_0 = LinearRegressionModel()
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(params=model_0.parameters(), lr=0.1)
fit(model_0, loss_fn, optimizer, epochs=500)
print(model_0.state_dict())

torch.manual_seed(42)
model_1 = LinearRegressionModel2()
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(params=(model_1 if fixed else model_0).parameters(), lr=0.1)
mse = fit(model_1, loss_fn, optimizer, epochs=500)
print(model_1.state_dict())

print("RESULT test_mse", mse)
