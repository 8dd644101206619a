# Hand written linear regression; answer: wrap the update in torch.no_grad(), zero the gradients, and
# standardise the features so that one learning rate suits all weights.
import torch
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

torch.manual_seed(0)
X, y = load_diabetes(return_X_y=True, scaled=False)
X, Xt, y, yt = train_test_split(X, y, test_size=0.25, random_state=4)
X, Xt = torch.tensor(X).float(), torch.tensor(Xt).float()
y, yt = torch.tensor(y).float().view(-1, 1), torch.tensor(yt).float().view(-1, 1)
mu, sd = X.mean(0), X.std(0)
X, Xt = (X - mu) / sd, (Xt - mu) / sd
ymu, ysd = y.mean(), y.std()
yn = (y - ymu) / ysd

w = (torch.randn(10, 1) * 0.1).requires_grad_()
b = torch.zeros(1, requires_grad=True)
lr = 0.05


def model(x):
    return x @ w + b


def mse(a, b):
    return ((a - b) ** 2).mean()


for epoch in range(400):
    loss = mse(model(X), yn)
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad
        b -= lr * b.grad
        w.grad.zero_()
        b.grad.zero_()
    if epoch % 50 == 0:
        print(epoch, loss.item())

with torch.no_grad():
    pred = model(Xt) * ysd + ymu
    r2 = 1 - mse(pred, yt) / mse(yt.mean(), yt)
print(f"RESULT test_r2 {r2.item():.4f}")
