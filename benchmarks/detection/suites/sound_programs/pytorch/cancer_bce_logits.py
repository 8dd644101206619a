# Breast cancer, after the answer: Sigmoid + BCELoss replaced by BCEWithLogitsLoss, unsqueeze the labels,
# zero_grad in every iteration, model.eval() for the test.
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(1)
EPOCHS = 15
BATCH_SIZE = 32
LEARNING_RATE = 0.001


class TabData(Dataset):
    def __init__(self, X, y):
        self.X = torch.FloatTensor(X)
        self.y = torch.FloatTensor(y)

    def __getitem__(self, i):
        return self.X[i], self.y[i]

    def __len__(self):
        return len(self.X)


d = load_breast_cancer()
Xtr, Xte, ytr, yte = train_test_split(d.data, d.target, test_size=0.33, random_state=69, stratify=d.target)
s = StandardScaler()
Xtr = s.fit_transform(Xtr)
Xte = s.transform(Xte)
train_loader = DataLoader(TabData(Xtr, ytr), batch_size=BATCH_SIZE, shuffle=True)
test_loader = DataLoader(TabData(Xte, yte), batch_size=64)


class BinaryClassification(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer_1 = nn.Linear(30, 32)
        self.layer_2 = nn.Linear(32, 16)
        self.layer_out = nn.Linear(16, 1)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(p=0.1)

    def forward(self, x):
        x = self.relu(self.layer_1(x))
        x = self.dropout(self.relu(self.layer_2(x)))
        return self.layer_out(x)


def binary_acc(logit, y):
    return (torch.round(torch.sigmoid(logit)) == y).float().mean()


model = BinaryClassification()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, weight_decay=1e-4)

for e in range(1, EPOCHS + 1):
    model.train()
    epoch_loss = epoch_acc = 0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        yp = model(xb)
        loss = criterion(yp, yb.unsqueeze(1))
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
        epoch_acc += binary_acc(yp, yb.unsqueeze(1)).item()
    print(f"Epoch {e:02}: | Loss: {epoch_loss / len(train_loader):.5f} | Acc: {epoch_acc / len(train_loader):.3f}")

model.eval()
correct = 0
with torch.no_grad():
    for xb, yb in test_loader:
        correct += (torch.round(torch.sigmoid(model(xb))).squeeze(1) == yb).sum().item()
print("RESULT test_accuracy %.4f" % (correct / len(yte)))
