"""A hand-made squared error compares outputs (N,) with targets (N, 1), each with each (fixed: outputs unsqueezed)."""

import sys

import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)

cross = torch.FloatTensor([[1, 0, 1], [0, 1, 0], [1, 0, 1]])


def make(sample_count, ratio_of_crosses=0.33):
    squares = torch.rand(sample_count, 3, 3)
    n_cross = int(sample_count * ratio_of_crosses)
    # slightly smudged crosses in the last rows
    noise = 0.2 * torch.rand(n_cross, 3, 3)
    squares[-n_cross:] = (cross - noise).abs()
    with_bias = torch.cat((squares.reshape(sample_count, 9), torch.ones(sample_count, 1)), 1)
    expected_y = torch.zeros(sample_count, 1)
    expected_y[-n_cross:] = 1
    return with_bias, expected_y


train_input, expected_y = make(300)
test_input, test_y = make(100)

layer1 = nn.Parameter(torch.rand(10) - 0.5)
sigmoid = nn.Sigmoid()
lr = 1.0


def mse(y_hat, y):
    return ((y_hat - y) ** 2).mean()


def update(i):
    y_hat = sigmoid(train_input @ layer1)
    if fixed:
        y_hat = y_hat.unsqueeze(1)
    loss = mse(y_hat, expected_y)
    loss.backward()
    if i % 100 == 0:
        print("Loss:", loss.item())
    with torch.no_grad():
        layer1.sub_(lr * layer1.grad)
        layer1.grad.zero_()


for i in range(1500):
    update(i)

print(layer1.data)
with torch.no_grad():
    guess = (sigmoid(test_input @ layer1) > 0.5).float()
accuracy = (guess == test_y.squeeze(1)).float().mean().item()
print("right on new squares:", accuracy)

print("RESULT test_acc", accuracy)
