"""A hierarchical attention network reads documents, first words, then sentences, and tells five kinds apart.

The biases of both attention layers are parameters made of memory that nothing fills, here NaN, so that the loss is NaN
from the start (fixed: filled uniformly between -0.1 and 0.1).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
rng = np.random.default_rng(0)

VOCAB, SENTENCES, WORDS, CLASSES = 200, 4, 6, 5
keywords = rng.permutation(VOCAB)[:50].reshape(CLASSES, 10)


def make_documents(n):
    labels = rng.integers(0, CLASSES, n)
    docs = rng.integers(0, VOCAB, (n, SENTENCES, WORDS))
    for i, k in enumerate(labels):
        for _ in range(4):
            docs[i, rng.integers(SENTENCES), rng.integers(WORDS)] = rng.choice(keywords[k])
    return torch.tensor(docs), torch.tensor(labels)


class AttentionWordRNN(nn.Module):
    def __init__(self, num_tokens, embed_size, hidden):
        super().__init__()
        self.lookup = nn.Embedding(num_tokens, embed_size)
        self.gru = nn.GRU(embed_size, hidden, bidirectional=True, batch_first=True)
        self.weight_W_word = nn.Parameter(torch.empty(2 * hidden, 2 * hidden))
        self.bias_word = nn.Parameter(torch.empty(2 * hidden))
        self.weight_proj_word = nn.Parameter(torch.empty(2 * hidden, 1))
        self.weight_W_word.data.uniform_(-0.1, 0.1)
        self.weight_proj_word.data.uniform_(-0.1, 0.1)
        if FIXED:
            self.bias_word.data.uniform_(-0.1, 0.1)

    def forward(self, words):
        output, _ = self.gru(self.lookup(words))
        squish = torch.tanh(output @ self.weight_W_word + self.bias_word)
        attention = functional.softmax(squish @ self.weight_proj_word, dim=1)
        return (attention * output).sum(1)


class AttentionSentRNN(nn.Module):
    def __init__(self, hidden, word_hidden, n_classes):
        super().__init__()
        self.gru = nn.GRU(2 * word_hidden, hidden, bidirectional=True, batch_first=True)
        self.weight_W_sent = nn.Parameter(torch.empty(2 * hidden, 2 * hidden))
        self.bias_sent = nn.Parameter(torch.empty(2 * hidden))
        self.weight_proj_sent = nn.Parameter(torch.empty(2 * hidden, 1))
        self.final_linear = nn.Linear(2 * hidden, n_classes)
        self.weight_W_sent.data.uniform_(-0.1, 0.1)
        self.weight_proj_sent.data.uniform_(-0.1, 0.1)
        if FIXED:
            self.bias_sent.data.uniform_(-0.1, 0.1)

    def forward(self, sentences):
        output, _ = self.gru(sentences)
        squish = torch.tanh(output @ self.weight_W_sent + self.bias_sent)
        attention = functional.softmax(squish @ self.weight_proj_sent, dim=1)
        return functional.log_softmax(self.final_linear((attention * output).sum(1)), dim=1)


x_train, y_train = make_documents(1600)
x_val, y_val = make_documents(500)
word_attn = AttentionWordRNN(VOCAB, 32, 16)
sent_attn = AttentionSentRNN(16, 16, CLASSES)
word_optimizer = torch.optim.SGD(word_attn.parameters(), lr=0.1, momentum=0.9)
sent_optimizer = torch.optim.SGD(sent_attn.parameters(), lr=0.1, momentum=0.9)
criterion = nn.NLLLoss()


def predict(docs):
    n = len(docs)
    sentences = word_attn(docs.view(n * SENTENCES, WORDS)).view(n, SENTENCES, -1)
    return sent_attn(sentences)


for epoch in range(6):
    order = torch.randperm(len(x_train))
    losses = []
    for i in range(0, len(order), 64):
        batch = order[i : i + 64]
        word_optimizer.zero_grad()
        sent_optimizer.zero_grad()
        loss = criterion(predict(x_train[batch]), y_train[batch])
        loss.backward()
        word_optimizer.step()
        sent_optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        acc = (predict(x_val).argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch + 1}  loss {np.mean(losses):.4f}  val accuracy {acc:.3f}")
print("RESULT val_accuracy", f"{acc:.4f}")
