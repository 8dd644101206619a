import tempfile

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

torch.manual_seed(0)
rng = np.random.default_rng(0)


def make(n):
    ids = rng.integers(5, 60, (n, 16))
    y = (np.isin(ids, range(5, 15)).sum(1) > np.isin(ids, range(15, 25)).sum(1)).astype(int)
    lens = rng.integers(8, 17, n)
    m = (np.arange(16) < lens[:, None]).astype(int)
    ids = ids * m
    y = (np.isin(ids, range(5, 15)).sum(1) > np.isin(ids, range(15, 25)).sum(1)).astype(int)
    return [
        {"input_ids": torch.tensor(a), "attention_mask": torch.tensor(b), "labels": int(c)}
        for a, b, c in zip(ids, m, y)
    ]


m = BertForSequenceClassification(
    BertConfig(
        vocab_size=60,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=16,
        num_labels=2,
    )
)
with tempfile.TemporaryDirectory() as t:
    a = TrainingArguments(
        t,
        num_train_epochs=6,
        per_device_train_batch_size=32,
        learning_rate=1e-3,
        warmup_steps=40,
        weight_decay=0.01,
        eval_strategy="epoch",
        logging_steps=20,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
    )
    Trainer(
        m,
        a,
        train_dataset=make(1200),
        eval_dataset=make(200),
        compute_metrics=lambda p: {"acc": float((p.predictions.argmax(1) == p.label_ids).mean())},
    ).train()
