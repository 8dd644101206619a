"""Multinomial logistic regression on the wine data with full-batch L-BFGS and an L2 penalty."""

import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

torch.manual_seed(0)
X, y = load_wine(return_X_y=True)
Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.3, random_state=5, stratify=y)
sc = StandardScaler().fit(Xa)
Xa, Xb = (torch.tensor(sc.transform(v), dtype=torch.float32) for v in (Xa, Xb))
ya, yb = torch.tensor(ya), torch.tensor(yb)

lin = torch.nn.Linear(13, 3)
torch.nn.init.zeros_(lin.weight)
torch.nn.init.zeros_(lin.bias)
opt = torch.optim.LBFGS(lin.parameters(), lr=1.0, max_iter=10, history_size=8, line_search_fn="strong_wolfe")
ce = torch.nn.CrossEntropyLoss()


def closure():
    opt.zero_grad()
    loss = ce(lin(Xa), ya) + 5e-3 * lin.weight.pow(2).sum()
    loss.backward()
    return loss


prev = float("inf")
for it in range(20):
    loss = opt.step(closure).item()
    print(it, "%.6f" % loss)
    if prev - loss < 1e-6:
        break
    prev = loss
with torch.no_grad():
    print("RESULT accuracy %.4f" % (lin(Xb).argmax(1) == yb).float().mean().item())
