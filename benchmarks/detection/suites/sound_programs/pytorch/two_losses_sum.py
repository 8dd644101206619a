# "Trying to backward through the graph a second time": the answer sums the two losses and calls backward once.
# One trunk, a class head and a regression head (wine cultivar and its alcohol from the other measurements).
import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from torch import nn

torch.manual_seed(2)
X, y = load_wine(return_X_y=True)
target = X[:, :1]
X = X[:, 1:]
X_tr, X_te, y_tr, y_te, a_tr, a_te = train_test_split(X, y, target, test_size=0.3, random_state=3, stratify=y)
mean, std = X_tr.mean(0), X_tr.std(0)
am, asd = a_tr.mean(), a_tr.std()
X_tr, X_te = [torch.tensor((v - mean) / std).float() for v in (X_tr, X_te)]
a_tr, a_te = [torch.tensor((v - am) / asd).float() for v in (a_tr, a_te)]
y_tr, y_te = torch.tensor(y_tr), torch.tensor(y_te)


class TwoHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(12, 24), nn.ReLU())
        self.cls = nn.Linear(24, 3)
        self.reg = nn.Linear(24, 1)

    def forward(self, x):
        h = self.shared(x)
        return self.cls(h), self.reg(h)


model = TwoHead()
ce, mse = nn.CrossEntropyLoss(), nn.MSELoss()
opt = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-3)
for epoch in range(80):
    model.train()
    logits, alcohol = model(X_tr)
    loss1 = ce(logits, y_tr)
    loss2 = mse(alcohol, a_tr)
    loss = loss1 + loss2
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 10 == 9:
        print(epoch + 1, loss1.item(), loss2.item())

model.eval()
with torch.no_grad():
    logits, alcohol = model(X_te)
    print("alcohol r2", 1 - (mse(alcohol, a_te) / mse(a_te.mean().expand_as(a_te), a_te)).item())
    acc = (logits.argmax(1) == y_te).float().mean().item()
print(f"RESULT test_accuracy {acc:.4f}")
