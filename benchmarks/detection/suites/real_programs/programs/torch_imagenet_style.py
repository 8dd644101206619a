"""A convolutional network is trained and validated on folders of images, as in the ImageNet example.

All files for validation lie in one folder instead of one for each class, so that all of them get the label 0
(fixed: the files are moved to a folder for each class).
"""

import os
import shutil
import sys
import tempfile

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)
np.random.seed(0)


def download(root):
    """Training files come in one folder per class, validation files with a list of names and classes."""
    digits = load_digits()
    images = (digits.images * 255 / 16).astype(np.uint8)
    names = [f"n{1000 + c:05d}" for c in digits.target]
    train, val = train_test_split(np.arange(len(images)), test_size=0.25, random_state=0, stratify=digits.target)
    for i in train:
        folder = os.path.join(root, "train", names[i])
        os.makedirs(folder, exist_ok=True)
        np.save(os.path.join(folder, f"{names[i]}_{i}.npy"), images[i])
    folder = os.path.join(root, "val", "images")
    os.makedirs(folder)
    val_list = []
    for k, i in enumerate(val):
        name = f"val_{k + 1:08d}.npy"
        np.save(os.path.join(folder, name), images[i])
        val_list.append((name, names[i]))
    return val_list


def prepare_val(root, val_list):
    for name, wnid in val_list:
        os.makedirs(os.path.join(root, "val", wnid), exist_ok=True)
        shutil.move(os.path.join(root, "val", "images", name), os.path.join(root, "val", wnid, name))
    os.rmdir(os.path.join(root, "val", "images"))


class ImageFolder(torch.utils.data.Dataset):
    def __init__(self, folder):
        classes = sorted(os.listdir(folder))
        self.class_to_idx = {c: k for k, c in enumerate(classes)}
        self.samples = [
            (np.load(os.path.join(folder, c, f)), self.class_to_idx[c])
            for c in classes
            for f in sorted(os.listdir(os.path.join(folder, c)))
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        image, target = self.samples[i]
        return (torch.from_numpy(image).float().unsqueeze(0) / 255 - 0.31) / 0.38, target


def validate(loader, model):
    model.eval()
    correct, loss = 0, 0.0
    with torch.no_grad():
        for images, target in loader:
            output = model(images)
            loss += criterion(output, target).item() * len(target)
            correct += (output.argmax(1) == target).sum().item()
    return loss / len(loader.dataset), 100.0 * correct / len(loader.dataset)


root = tempfile.mkdtemp()
val_list = download(root)
if FIXED:
    prepare_val(root, val_list)
train_set, val_set = ImageFolder(os.path.join(root, "train")), ImageFolder(os.path.join(root, "val"))
shutil.rmtree(root)
train_loader = torch.utils.data.DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = torch.utils.data.DataLoader(val_set, batch_size=100)

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1, bias=False),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1, bias=False),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(128, 10),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9, weight_decay=1e-4)

for epoch in range(8):
    model.train()
    correct, loss_sum = 0, 0.0
    for images, target in train_loader:
        output = model(images)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * len(target)
        correct += (output.argmax(1) == target).sum().item()
    val_loss, acc1 = validate(val_loader, model)
    print(
        f"Epoch: [{epoch}]  Loss {loss_sum / len(train_set):.4f}  Acc@1 {100.0 * correct / len(train_set):.3f}  "
        f"Val loss {val_loss:.4f}  * Acc@1 {acc1:.3f}"
    )

print("RESULT val_acc1", f"{acc1:.3f}")
