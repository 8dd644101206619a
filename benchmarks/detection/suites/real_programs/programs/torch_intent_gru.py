"""Gradients are never reset, so that those of all batches add up (fixed: at each batch)."""

import random
import sys

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

fixed = "--fixed" in sys.argv
random.seed(0)
torch.manual_seed(0)

INTENTS = {
    "weather": ["will it rain", "how hot is it", "do i need an umbrella", "is it going to snow"],
    "alarm": ["wake me up", "set an alarm", "remind me", "start a timer"],
    "music": ["play some jazz", "put on a song", "skip this track", "turn the volume up"],
    "lights": ["turn the lights on", "dim the lamp", "switch off the lights", "make it brighter"],
    "travel": ["book a flight", "find me a train", "how long is the drive", "get me a taxi"],
}
FILLERS = ["please", "now", "hey", "could you", "tomorrow", "in the kitchen", "at seven", "to paris", "again", "for me"]
LABELS = list(INTENTS)


def make_example():
    label = random.randrange(len(LABELS))
    text = random.choice(INTENTS[LABELS[label]])
    parts = [*random.sample(FILLERS, random.randint(0, 2)), text, *random.sample(FILLERS, random.randint(0, 3))]
    return [word if random.random() > 0.1 else "<unk>" for word in " ".join(parts).split()], label


train = [make_example() for _ in range(1500)]
test = [make_example() for _ in range(400)]
vocabulary = {"<pad>": 0, "<unk>": 1}
for words, _ in train:
    for word in words:
        vocabulary.setdefault(word, len(vocabulary))


def collate(examples):
    sequences = [torch.tensor([vocabulary.get(word, 1) for word in words]) for words, _ in examples]
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    return pad_sequence(sequences, batch_first=True), lengths, torch.tensor([label for _, label in examples])


class IntentClassifier(nn.Module):
    """A recurrent layer over words, of which the last state is classified."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(vocabulary), 32, padding_idx=0)
        self.gru = nn.GRU(32, 48, batch_first=True)
        self.out = nn.Linear(48, len(LABELS))

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.embedding(x), lengths, batch_first=True, enforce_sorted=False)
        _, state = self.gru(packed)
        return self.out(state[-1])


model = IntentClassifier()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for epoch in range(8):
    model.train()
    random.shuffle(train)
    total = 0.0
    for i in range(0, len(train), 32):
        x, lengths, y = collate(train[i : i + 32])
        loss = criterion(model(x, lengths), y)
        if fixed:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    model.eval()
    with torch.no_grad():
        x, lengths, y = collate(test)
        logits = model(x, lengths)
        acc = (logits.argmax(1) == y).float().mean().item()
        val_loss = criterion(logits, y).item()
    print(f"epoch {epoch + 1} loss {total / len(train):.4f} val_loss {val_loss:.4f} val_acc {acc:.4f}")

print("RESULT val_acc", acc)
