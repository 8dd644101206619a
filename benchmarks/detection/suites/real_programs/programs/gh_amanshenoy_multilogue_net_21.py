"""Whether fear comes up in an utterance, which is rare: the class weights are in the wrong order (fixed: swapped)."""

import sys

import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
LENGTH, TEXT, AUDIO = 8, 16, 6


def dialogues(count):
    """Return text and audio features of each utterance, and whether it shows fear, which a third carries on."""
    fear = torch.rand(count, LENGTH) < 0.062
    for t in range(1, LENGTH):
        fear[:, t] |= fear[:, t - 1] & (torch.rand(count) < 0.33)
    fear = fear.float().unsqueeze(2)
    return (
        torch.randn(count, LENGTH, TEXT) + 0.8 * fear * signs,
        torch.randn(count, LENGTH, AUDIO) + 0.6 * fear,
        fear[..., 0].long(),
    )


class MultilogueNet(nn.Module):
    """One recurrent network for each kind of feature, and both together."""

    def __init__(self):
        super().__init__()
        self.text_rnn = nn.GRU(TEXT, 24, batch_first=True)
        self.audio_rnn = nn.GRU(AUDIO, 24, batch_first=True)
        self.linear = nn.Sequential(nn.Linear(48, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2))

    def forward(self, text, audio):
        both = torch.cat([self.text_rnn(text)[0], self.audio_rnn(audio)[0]], dim=-1)
        return nn.functional.log_softmax(self.linear(both), dim=-1)


signs = torch.randn(TEXT).sign() * (torch.rand(TEXT) < 0.5)
train, test = dialogues(800), dialogues(300)
loss_weights = torch.tensor([1 / 0.0816, 1 / 0.9184])
if fixed:
    loss_weights = loss_weights.flip(0)
model = MultilogueNet()
loss_function = nn.NLLLoss(weight=loss_weights)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)
for epoch in range(6):
    model.train()
    for rows in torch.randperm(800).split(32):
        text, audio, label = (part[rows] for part in train)
        optimizer.zero_grad()
        loss = loss_function(model(text, audio).flatten(0, 1), label.flatten())
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        found = model(*test[:2]).argmax(2) == 1
    fear = test[2] == 1
    recalls = [float((found == fear)[fear == value].float().mean()) for value in (False, True)]
    print(epoch, loss.item(), *recalls, float((found == fear).float().mean()))
print("RESULT balanced_accuracy", sum(recalls) / 2)
