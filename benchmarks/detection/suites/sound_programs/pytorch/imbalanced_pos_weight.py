import torch
from sklearn.metrics import f1_score, precision_score, recall_score
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(55)


def sample(n_neg, n_pos):
    neg = torch.randn(n_neg, 5)
    pos = torch.randn(n_pos, 5) * 0.8 + torch.tensor([2.5, -2.2, 1.8, 0.0, 1.9])
    x = torch.cat([neg, pos])
    t = torch.cat([torch.zeros(n_neg, 1), torch.ones(n_pos, 1)])
    p = torch.randperm(len(x))
    return x[p], t[p]


x_train, y_train = sample(2250, 250)
x_test, y_test = sample(900, 100)
mean, std = x_train.mean(0), x_train.std(0)
x_train, x_test = (x_train - mean) / std, (x_test - mean) / std

# negatives / positives
pos_weight = (y_train == 0).sum() / (y_train == 1).sum()
criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)

model = nn.Sequential(nn.Linear(5, 10), nn.ReLU(), nn.Linear(10, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=100, shuffle=True)

for epoch in range(25):
    model.train()
    seen = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        seen += loss.item() * len(xb)
    if (epoch + 1) % 5 == 0:
        model.eval()
        with torch.no_grad():
            test_loss = criterion(model(x_test), y_test).item()
        print(f"epoch {epoch + 1}: train {seen / len(x_train):.4f}  test {test_loss:.4f}")

model.eval()
with torch.no_grad():
    pred = (torch.sigmoid(model(x_test)) > 0.5).int().numpy()
truth = y_test.int().numpy()
recall, precision = recall_score(truth, pred), precision_score(truth, pred)
print(f"recall {recall:.3f} precision {precision:.3f} f1 {f1_score(truth, pred):.3f}")
