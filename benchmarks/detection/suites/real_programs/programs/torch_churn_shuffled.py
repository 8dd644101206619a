"""A network tells which customers of a bank leave, with embeddings for the categories.

It is scored on a test loader with shuffle=True. The collected predictions are then compared with the test labels in
the original order, so the score looks like guessing (fixed: shuffle=False for the test loader).
"""

import sys

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelEncoder, StandardScaler
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(3)
rng = np.random.RandomState(3)

n = 5000
data = pd.DataFrame(
    {
        "Geography": rng.choice(["France", "Germany", "Spain"], n),
        "Gender": rng.choice(["Male", "Female"], n),
        "HasCrCard": rng.randint(0, 2, n),
        "IsActiveMember": rng.randint(0, 2, n),
        "Age": rng.gamma(12, 3.3, n),
        "Tenure": rng.randint(0, 11, n),
        "Balance": rng.uniform(0, 200000, n),
        "EstimatedSalary": rng.uniform(10000, 200000, n),
        "NumOfProducts": rng.randint(1, 5, n),
        "CreditScore": rng.normal(650, 95, n),
    }
)
score = (
    0.12 * (data.Age - 40)
    + 1.4 * (data.Geography == "Germany")
    - 1.6 * data.IsActiveMember
    + 0.9 * (data.Gender == "Female")
    + 1.3 * (data.NumOfProducts - 2.2).abs()
    - 0.006 * (data.CreditScore - 650)
)
data["Exited"] = (score + rng.logistic(0, 0.7, n) > 1.3).astype(int)

categorical_columns = ["Geography", "Gender", "HasCrCard", "IsActiveMember"]
numeric_columns = ["Age", "Tenure", "Balance", "EstimatedSalary", "NumOfProducts", "CreditScore"]
for col in categorical_columns:
    data[col] = LabelEncoder().fit_transform(data[col])
train_df, test_df = train_test_split(data, test_size=0.2, random_state=23)
scaler = StandardScaler().fit(train_df[numeric_columns])
y_test = test_df["Exited"].values


class ChurnDataset(Dataset):
    def __init__(self, df):
        self.cat = torch.tensor(df[categorical_columns].values, dtype=torch.int64)
        self.cont = torch.tensor(scaler.transform(df[numeric_columns]), dtype=torch.float32)
        self.y = torch.tensor(df["Exited"].values, dtype=torch.int64)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.cat[i], self.cont[i], self.y[i]


class TestNet(nn.Module):
    def __init__(self, sizes, n_cont):
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(c, d) for c, d in sizes])
        n_emb = sum(d for _, d in sizes)
        self.lin1 = nn.Linear(n_emb + n_cont, 64)
        self.lin2 = nn.Linear(64, 32)
        self.lin3 = nn.Linear(32, 2)
        self.bn1 = nn.BatchNorm1d(64)
        self.drop = nn.Dropout(0.2)

    def forward(self, cat, cont):
        x = torch.cat([e(cat[:, i]) for i, e in enumerate(self.embeddings)] + [cont], 1)
        x = self.drop(self.bn1(torch.relu(self.lin1(x))))
        return self.lin3(self.drop(torch.relu(self.lin2(x))))


train_dl = DataLoader(ChurnDataset(train_df), batch_size=100, shuffle=True)
test_dl = DataLoader(ChurnDataset(test_df), batch_size=100, shuffle=not FIXED)

model = TestNet([(3, 2), (2, 1), (2, 1), (2, 1)], len(numeric_columns))
optim = torch.optim.Adam(model.parameters(), lr=0.001)
criterion = nn.CrossEntropyLoss()

for epoch in range(15):
    model.train()
    total, sum_loss = 0, 0.0
    for cat, cont, y in train_dl:
        loss = criterion(model(cat, cont), y)
        optim.zero_grad()
        loss.backward()
        optim.step()
        total += len(y)
        sum_loss += len(y) * loss.item()
    print(f"epoch : {epoch + 1}, training loss : {sum_loss / total:.4f}")

model.eval()
preds = []
with torch.no_grad():
    for cat, cont, _ in test_dl:
        preds.extend(model(cat, cont).argmax(1).tolist())
print("RESULT balanced_accuracy", f"{balanced_accuracy_score(y_test, preds):.4f}")
