"""A small student network learns pictures of digits from the outputs of a convolutional teacher.

The outputs of the teacher are computed once and looked up by the number of the batch. But the loader shuffles anew in
each epoch, so that the student gets the teacher's answers to other pictures (fixed: the teacher answers each batch in
the training loop).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
ALPHA, TEMPERATURE = 0.95, 4.0


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 24, 3, padding=1),
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.Conv2d(24, 48, 3, padding=1),
            nn.BatchNorm2d(48),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(48 * 16, 64),
            nn.ReLU(),
            nn.Dropout(0.3),
            nn.Linear(64, 10),
        )

    def forward(self, x):
        return self.net(x)


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3, padding=1)
        self.fc1 = nn.Linear(6 * 16, 24)
        self.fc2 = nn.Linear(24, 10)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.conv(x)), 2).flatten(1)
        return self.fc2(functional.relu(self.fc1(x)))


def loss_fn_kd(outputs, labels, teacher_outputs):
    soft = functional.kl_div(
        functional.log_softmax(outputs / TEMPERATURE, dim=1),
        functional.softmax(teacher_outputs / TEMPERATURE, dim=1),
        reduction="batchmean",
    )
    return soft * (ALPHA * TEMPERATURE**2) + functional.cross_entropy(outputs, labels) * (1 - ALPHA)


def evaluate(model, loader):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for images, labels in loader:
            correct += (model(images).argmax(1) == labels).sum().item()
            total += len(labels)
    return correct / total


digits = load_digits()
noise = np.random.default_rng(0).normal(0, 0.05, digits.images.shape)
X = torch.tensor(digits.images / 16 + noise, dtype=torch.float32).unsqueeze(1)
y = torch.tensor(digits.target)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
train_dl = DataLoader(TensorDataset(X_train, y_train), batch_size=64, shuffle=True)
test_dl = DataLoader(TensorDataset(X_test, y_test), batch_size=256)

teacher = Teacher()
optimizer = torch.optim.Adam(teacher.parameters(), lr=1e-3)
for _ in range(8):
    teacher.train()
    for images, labels in train_dl:
        optimizer.zero_grad()
        functional.cross_entropy(teacher(images), labels).backward()
        optimizer.step()
print("teacher accuracy", evaluate(teacher, test_dl))


def fetch_teacher_outputs():
    teacher.eval()
    with torch.no_grad():
        return [teacher(images) for images, _ in train_dl]


student = Student()
optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)
teacher_outputs = None if FIXED else fetch_teacher_outputs()
teacher.eval()
for epoch in range(20):
    student.train()
    running = 0.0
    for i, (images, labels) in enumerate(train_dl):
        if FIXED:
            with torch.no_grad():
                taught = teacher(images)
        else:
            taught = teacher_outputs[i]
        loss = loss_fn_kd(student(images), labels, taught)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} train loss {running / len(train_dl):.3f}", flush=True)

print("RESULT test_accuracy", f"{evaluate(student, test_dl):.4f}")
