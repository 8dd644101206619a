"""A network tells from a photo of a person which body parts touch something.

The training set normalises the pictures with the mean and the standard deviation of ImageNet, but inference only
divides by 255 (fixed: the same normalisation before inference).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(8)
rng = np.random.RandomState(8)

SIZE, PARTS = 32, 6
spots = np.array([(6, 8), (6, 24), (16, 5), (16, 27), (26, 10), (26, 22)])
MEAN = np.array([0.485, 0.456, 0.406])
STD = np.array([0.229, 0.224, 0.225])


def photo():
    y, x = np.mgrid[0:SIZE, 0:SIZE]
    img = rng.uniform(90, 150, 3) + 18 * rng.randn(SIZE, SIZE, 3)
    contact = rng.rand(PARTS) < 0.4
    for (cy, cx), c in zip(spots + rng.randint(-1, 2, spots.shape), contact, strict=True):
        blob = np.exp(-((y - cy) ** 2 + (x - cx) ** 2) / 9.0)[..., None]
        tint = np.array([70, -30, -40]) if c else np.array([25, 25, 10])
        img = img + blob * tint * rng.uniform(0.7, 1.2)
    return np.clip(img, 0, 255).astype("uint8"), contact.astype("float32")


def normalize_img(img):
    return (img - MEAN) / STD


class ContactDataset(Dataset):
    def __init__(self, n):
        self.items = [photo() for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, contact = self.items[i]
        img = normalize_img(img / 255.0)
        return torch.tensor(img.transpose(2, 0, 1), dtype=torch.float32), torch.tensor(contact)


class Deco(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 24, 3, 2, 1),
            nn.BatchNorm2d(24),
            nn.ReLU(),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(24 * 8 * 8, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, PARTS)
        )

    def forward(self, x):
        return self.classifier(self.encoder(x))


train_loader = DataLoader(ContactDataset(2000), batch_size=32, shuffle=True)
deco_model = Deco()
optimizer = torch.optim.Adam(deco_model.parameters(), lr=1e-3)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(6):
    deco_model.train()
    total = 0.0
    for img, contact in train_loader:
        loss = criterion(deco_model(img), contact)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(img)
    print(f"epoch {epoch + 1} loss {total / 2000:.4f}")


def inference(images):
    deco_model.eval()
    out = []
    for image in images:
        img = image / 255.0
        if FIXED:
            img = normalize_img(img)
        img = torch.tensor(img.transpose(2, 0, 1)[np.newaxis], dtype=torch.float32)
        with torch.no_grad():
            out.append(torch.sigmoid(deco_model(img))[0].numpy() > 0.5)
    return np.stack(out)


images, contacts = zip(*[photo() for _ in range(300)], strict=True)
contacts = np.stack(contacts) > 0.5
pred = inference(images)
f1 = 2 * (pred & contacts).sum() / (pred.sum() + contacts.sum())
print("RESULT contact_f1", f"{f1:.4f}")
