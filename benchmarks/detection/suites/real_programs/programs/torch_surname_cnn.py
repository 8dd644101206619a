"""A one-dimensional convolutional network over characters tells the nationality of surnames.

``F.dropout`` is called without ``training``, so dropout stays on in evaluation (fixed: ``training=self.training``).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1337)
rng = np.random.RandomState(1337)

SYLLABLES = {
    "Italian": "ro si bi an chi fer ra ri co lom bo mar ti ni gal lo con ti",
    "Polish": "ko wal ski no wak wis niew zi elin szcz cz yk kow sz mar ek",
    "Japanese": "ta na ka su zu ki ya ma mo to sa ito hashi mura no kawa",
    "Irish": "o mc con nor neil bri an mur phy kel ly sul li van do her ty",
    "Greek": "pa pa do pou los dis nik ol ai geor gi ou kis the an ko",
    "German": "mei er schm idt schu mann ber ger hof fri ed rich kel ler bau",
}
NATIONS = sorted(SYLLABLES)
LENGTH = 14
CHARS = " abcdefghijklmnopqrstuvwxyz"


def surname(nation):
    parts = SYLLABLES[nation].split()
    name = "".join(rng.choice(parts) for _ in range(rng.randint(2, 5)))
    name = list(name[:LENGTH])
    for i in range(len(name)):
        if rng.rand() < 0.05:
            name[i] = CHARS[rng.randint(1, 27)]
    return "".join(name)


def vectorize(name):
    one_hot = np.zeros((len(CHARS), LENGTH), dtype=np.float32)
    for i, c in enumerate(name):
        one_hot[CHARS.index(c), i] = 1
    return one_hot


y = rng.randint(0, len(NATIONS), 3000)
names = [surname(NATIONS[k]) for k in y]
x = torch.tensor(np.stack([vectorize(n) for n in names]))
y = torch.tensor(y)
x_train, y_train, x_val, y_val, x_test, y_test = x[:2000], y[:2000], x[2000:2500], y[2000:2500], x[2500:], y[2500:]


class SurnameClassifier(nn.Module):
    def __init__(self, initial_num_channels, num_classes, num_channels):
        super().__init__()
        self.convnet = nn.Sequential(
            nn.Conv1d(initial_num_channels, num_channels, 3),
            nn.ELU(),
            nn.Conv1d(num_channels, num_channels, 3, stride=2),
            nn.ELU(),
            nn.Conv1d(num_channels, num_channels, 3),
            nn.ELU(),
        )
        self.fc1 = nn.Linear(num_channels * 3, 16)
        self.fc2 = nn.Linear(16, num_classes)

    def forward(self, x, apply_softmax=False):
        features = self.convnet(x).flatten(1)
        if fixed:
            features = functional.dropout(features, p=0.5, training=self.training)
            hidden = functional.dropout(functional.relu(self.fc1(features)), p=0.5, training=self.training)
        else:
            features = functional.dropout(features, p=0.5)
            hidden = functional.dropout(functional.relu(self.fc1(features)), p=0.5)
        prediction = self.fc2(hidden)
        return functional.softmax(prediction, dim=1) if apply_softmax else prediction


classifier = SurnameClassifier(len(CHARS), len(NATIONS), 32)
loss_func = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(classifier.parameters(), lr=1e-3)
for epoch in range(40):
    classifier.train()
    running_loss, running_acc, n = 0.0, 0.0, 0
    order = torch.randperm(len(x_train))
    for i in range(0, len(order), 64):
        b = order[i : i + 64]
        optimizer.zero_grad()
        y_pred = classifier(x_train[b])
        loss = loss_func(y_pred, y_train[b])
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        running_acc += (y_pred.argmax(1) == y_train[b]).float().mean().item()
        n += 1
    classifier.eval()
    with torch.no_grad():
        y_pred = classifier(x_val)
        val_loss = loss_func(y_pred, y_val).item()
        val_acc = (y_pred.argmax(1) == y_val).float().mean().item()
    print(
        f"epoch {epoch} loss {running_loss / n:.3f} acc {running_acc / n:.3f} "
        f"val_loss {val_loss:.3f} val_acc {val_acc:.3f}"
    )

classifier.eval()
with torch.no_grad():
    test_acc = (classifier(x_test, apply_softmax=True).argmax(1) == y_test).float().mean().item()
    for _ in range(2):
        print(names[-1], classifier(x_test[-1:], apply_softmax=True).max().item())
print("RESULT test_accuracy", f"{test_acc:.4f}")
