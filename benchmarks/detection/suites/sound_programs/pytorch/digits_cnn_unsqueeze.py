# "Expected 4D input": the answer adds the channel dimension with unsqueeze(1) and computes the flatten size.
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
images = (images - 0.5) / 0.5
labels = torch.tensor(digits.target)
tr, te = train_test_split(range(len(labels)), test_size=0.2, random_state=2, stratify=digits.target)
trainloader = DataLoader(TensorDataset(images[tr], labels[tr]), batch_size=32, shuffle=True)
testloader = DataLoader(TensorDataset(images[te], labels[te]), batch_size=100)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.drop = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32 * 2 * 2, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = self.drop(F.relu(self.fc1(x)))
        return self.fc2(x)


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.001)

for epoch in range(20):
    net.train()
    running_loss = 0.0
    for i, data in enumerate(trainloader, 0):
        inputs, targets = data
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print("[%d] loss: %.3f" % (epoch + 1, running_loss / len(trainloader)))
print("Finished Training")

correct = total = 0
net.eval()
with torch.no_grad():
    for inputs, targets in testloader:
        _, predicted = torch.max(net(inputs), 1)
        total += targets.size(0)
        correct += (predicted == targets).sum().item()
print("RESULT test_accuracy %.4f" % (correct / total))
