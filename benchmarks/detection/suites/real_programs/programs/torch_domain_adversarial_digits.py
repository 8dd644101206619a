"""Domain adversarial training: digits on a plain ground with labels, and on a textured ground without.

Classifier and discriminator end in a softmax, and ``CrossEntropyLoss`` applies one again (fixed: they end in logits).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn, optim

fixed = "--fixed" in sys.argv
torch.manual_seed(3)
np.random.seed(3)


class ReversalLayerF(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class Extractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.extractor = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )

    def forward(self, x):
        return self.extractor(x).view(-1, 32 * 2 * 2)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)]
        if not fixed:
            layers.append(nn.Softmax(dim=1))
        self.classifier = nn.Sequential(*layers)

    def forward(self, x):
        return self.classifier(x)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 2)]
        if not fixed:
            layers.append(nn.Softmax(dim=1))
        self.discriminator = nn.Sequential(*layers)

    def forward(self, x, alpha):
        return self.discriminator(ReversalLayerF.apply(x, alpha))


digits = load_digits()
pictures = (digits.images / 16.0).astype(np.float32)
order = np.random.permutation(len(pictures))
pictures, target = pictures[order], torch.tensor(digits.target[order])
plain = torch.tensor(np.repeat(pictures[:, None], 3, axis=1))
ground = np.random.rand(len(pictures), 3, 1, 1) * 0.3 + np.random.rand(len(pictures), 3, 8, 8) * 0.15
textured = torch.tensor(np.abs(pictures[:, None] - ground).astype(np.float32))
source_x, source_y, target_x = plain[:700], target[:700], textured[700:1400]
test_source, test_target, test_y = plain[1400:], textured[1400:], target[1400:]

encoder, classifier, discriminator = Extractor(), Classifier(), Discriminator()
classifier_criterion, discriminator_criterion = nn.CrossEntropyLoss(), nn.CrossEntropyLoss()
optimizer = optim.SGD(
    list(encoder.parameters()) + list(classifier.parameters()) + list(discriminator.parameters()), lr=0.01, momentum=0.9
)
epochs, batch = 50, 32
for epoch in range(epochs):
    s, t = torch.randperm(700), torch.randperm(700)
    steps = 700 // batch
    sums = np.zeros(2)
    for k in range(steps):
        p = (epoch * steps + k) / (epochs * steps)
        alpha = 1.0 * (2.0 / (1.0 + np.exp(-10 * p)) - 1)
        xs, ys, xt = (
            source_x[s[k * batch : (k + 1) * batch]],
            source_y[s[k * batch : (k + 1) * batch]],
            target_x[t[k * batch : (k + 1) * batch]],
        )
        optimizer.zero_grad()
        combined = encoder(torch.cat((xs, xt)))
        class_pred = classifier(combined[:batch])
        class_loss = classifier_criterion(class_pred, ys)
        domain_pred = discriminator(combined, alpha)
        domain_y = torch.cat((torch.zeros(batch), torch.ones(batch))).long()
        domain_loss = discriminator_criterion(domain_pred, domain_y)
        (class_loss + domain_loss).backward()
        optimizer.step()
        sums += class_loss.item(), domain_loss.item()
    with torch.no_grad():
        acc_s = (classifier(encoder(test_source)).argmax(1) == test_y).float().mean().item()
        acc_t = (classifier(encoder(test_target)).argmax(1) == test_y).float().mean().item()
    print(
        f"epoch {epoch} class loss {sums[0] / steps:.3f} domain loss {sums[1] / steps:.3f}",
        f"source acc {acc_s:.3f} target acc {acc_t:.3f}",
    )
print("RESULT source_accuracy", f"{acc_s:.4f}")
