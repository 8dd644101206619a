# Logistic regression against an MLP on the same two-ring data: each model has
# its own optimizer and both are trained in the same script.
import torch
from sklearn.datasets import make_circles
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(15)
X, y = make_circles(n_samples=1500, noise=0.07, factor=0.5, random_state=15)
X_train, X_test = X[:1100], X[1100:]
sc = StandardScaler().fit(X_train)
X_train = torch.tensor(sc.transform(X_train), dtype=torch.float32)
X_test = torch.tensor(sc.transform(X_test), dtype=torch.float32)
y_train = torch.tensor(y[:1100], dtype=torch.float32).unsqueeze(1)
y_test = torch.tensor(y[1100:], dtype=torch.float32).unsqueeze(1)


def squares(t):  # features that make the rings linearly separable
    return torch.cat([t, t**2 - 1.0], dim=1)


def fit(name, model, inputs, test_inputs, lr, epochs):
    loader = DataLoader(TensorDataset(inputs, y_train), batch_size=44, shuffle=True)
    opt = torch.optim.RMSprop(model.parameters(), lr=lr)
    bce = nn.BCEWithLogitsLoss()
    for _ in range(epochs):
        model.train()
        for xb, yb in loader:
            opt.zero_grad()
            loss = bce(model(xb), yb)
            loss.backward()
            opt.step()
    model.eval()
    with torch.no_grad():
        tr = bce(model(inputs), y_train).item()
        logits = model(test_inputs)
        te = bce(logits, y_test).item()
        acc = ((logits > 0).float() == y_test).float().mean().item()
    print(f"{name:28s} train loss {tr:.3f}  test loss {te:.3f}  test accuracy {acc:.3f}")


fit("logistic on squared features", nn.Linear(4, 1), squares(X_train), squares(X_test), lr=0.01, epochs=30)
fit(
    "MLP on raw coordinates",
    nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1)),
    X_train,
    X_test,
    lr=0.005,
    epochs=40,
)
