"""A network learns the height of a paraboloid from two coordinates.

The targets have shape [N] and the outputs [N, 1], so the squared error compares each with each (fixed: targets [N, 1]).
"""

import sys

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import nn

fixed = "--fixed" in sys.argv
np.random.seed(42)
torch.manual_seed(42)

x = np.random.random(1000)
y = np.random.random(1000)
z = x**2 + y**2 + 0.03 * np.random.randn(1000)

input_data = torch.Tensor(np.transpose([x, y]))
output_data = torch.Tensor(z)
if fixed:
    output_data = output_data.reshape(-1, 1)

input_training, input_validation, output_training, output_validation = train_test_split(
    input_data, output_data, random_state=42, test_size=0.15, shuffle=True
)


class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear_1 = nn.Linear(2, 16)
        self.act_1 = nn.ReLU()
        self.linear_2 = nn.Linear(16, 8)
        self.act_2 = nn.ReLU()
        self.linear_3 = nn.Linear(8, 1)

    def forward(self, v):
        v = self.act_1(self.linear_1(v))
        v = self.act_2(self.linear_2(v))
        return self.linear_3(v)


model = Regression()
loss_function = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

epochs = 500
for epoch in range(epochs):
    model.train()
    optimizer.zero_grad()
    prediction = model(input_training)
    loss = loss_function(prediction, output_training)
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        val_loss = loss_function(model(input_validation), output_validation)
    if epoch % 50 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f} validation {val_loss.item():.4f}")

with torch.no_grad():
    p = model(input_validation).numpy().ravel()
t = output_validation.numpy().ravel()
r2 = 1 - ((p - t) ** 2).sum() / ((t - t.mean()) ** 2).sum()
print("RESULT r2", f"{r2:.4f}")
