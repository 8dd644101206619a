# "My model predicts only zeros": answer - pos_weight in BCEWithLogitsLoss, look at ROC instead of accuracy.
import torch
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X, y = make_classification(
    n_samples=6000,
    n_features=20,
    n_informative=8,
    n_redundant=4,
    n_clusters_per_class=2,
    weights=[0.9, 0.1],
    class_sep=1.3,
    flip_y=0.01,
    random_state=12,
)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
scaler = StandardScaler()
X_train = torch.tensor(scaler.fit_transform(X_train), dtype=torch.float32)
X_val = torch.tensor(scaler.transform(X_val), dtype=torch.float32)
y_train = torch.tensor(y_train, dtype=torch.float32)
y_val_t = torch.tensor(y_val, dtype=torch.float32)

n_pos = y_train.sum()
pos_weight = (len(y_train) - n_pos) / n_pos
print("pos_weight", pos_weight.item())

model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(X_train, y_train), batch_size=64, shuffle=True)

for epoch in range(15):
    model.train()
    total = 0.0
    for xb, yb in loader:
        logits = model(xb).squeeze(1)
        loss = criterion(logits, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        v = model(X_val).squeeze(1)
        vl = criterion(v, y_val_t).item()
    print(f"epoch {epoch + 1} train {total / len(X_train):.4f} val {vl:.4f} auc {roc_auc_score(y_val, v.numpy()):.4f}")

print("average precision", average_precision_score(y_val, v.numpy()))
print(f"RESULT val_roc_auc {roc_auc_score(y_val, v.numpy()):.4f}")
