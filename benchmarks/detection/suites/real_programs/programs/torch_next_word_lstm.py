"""An LSTM predicts the next word of texts in which a word depends on the two before it.

``nn.LSTM`` gets (batch, time, features) but expects time first, so it runs along the batch
(fixed: ``batch_first=True``). The states are carried along the epoch.
"""

import sys

import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
WORDS = 12
table = rng.randint(0, WORDS, (WORDS, WORDS))


def write(n):
    text = [0, 1]
    while len(text) < n:
        text.append(int(table[text[-2], text[-1]]) if rng.rand() < 0.85 else int(rng.randint(WORDS)))
    return text


class TextDataset(Dataset):
    def __init__(self, text, sequence_length):
        self.text, self.sequence_length = text, sequence_length

    def __len__(self):
        return len(self.text) - self.sequence_length

    def __getitem__(self, index):
        return (
            torch.tensor(self.text[index : index + self.sequence_length]),
            torch.tensor(self.text[index + 1 : index + self.sequence_length + 1]),
        )


class Model(nn.Module):
    def __init__(self, n_vocab):
        super().__init__()
        self.lstm_size, self.embedding_dim, self.num_layers = 64, 32, 2
        self.embedding = nn.Embedding(n_vocab, self.embedding_dim)
        self.lstm = nn.LSTM(
            self.embedding_dim, self.lstm_size, num_layers=self.num_layers, dropout=0.1, batch_first=fixed
        )
        self.fc = nn.Linear(self.lstm_size, n_vocab)

    def forward(self, x, prev_state):
        output, state = self.lstm(self.embedding(x), prev_state)
        return self.fc(output), state

    def init_state(self, size):
        return (torch.zeros(self.num_layers, size, self.lstm_size), torch.zeros(self.num_layers, size, self.lstm_size))


sequence_length, batch_size, max_epochs = 4, 64, 14
dataset = TextDataset(write(6000), sequence_length)
held_out = write(600)
model = Model(WORDS)
dataloader = DataLoader(dataset, batch_size=batch_size, drop_last=True)
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=3e-3)


def predict(words):
    model.eval()
    x = torch.tensor([words])
    with torch.no_grad():
        y_pred, _ = model(x, model.init_state(1 if fixed else len(words)))
    return int(y_pred[0, -1].argmax())


for epoch in range(max_epochs):
    model.train()
    state_h, state_c = model.init_state(batch_size if fixed else sequence_length)
    losses = []
    for x, y in dataloader:
        optimizer.zero_grad()
        y_pred, (state_h, state_c) = model(x, (state_h, state_c))
        loss = criterion(y_pred.transpose(1, 2), y)
        state_h, state_c = state_h.detach(), state_c.detach()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    hits = [
        predict(held_out[i : i + sequence_length]) == held_out[i + sequence_length]
        for i in range(len(held_out) - sequence_length)
    ]
    print(f"epoch {epoch} loss {np.mean(losses):.4f} next word accuracy on held out text {np.mean(hits):.4f}")
print("RESULT next_word_accuracy", f"{np.mean(hits):.4f}")
