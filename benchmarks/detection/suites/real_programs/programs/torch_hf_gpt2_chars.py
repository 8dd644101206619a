"""A GPT-2 under transformers' Trainer, which shifts labels itself, is given shifted ones (fixed: it is not)."""

import random
import sys
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

fixed = "--fixed" in sys.argv
set_seed(0)
random.seed(0)

VERBS = ["move", "copy", "delete", "open", "rename"]
NOUNS = ["report", "picture", "invoice", "letter", "backup"]
PLACES = ["desktop", "archive", "server", "folder", "printer"]
LENGTH = 40


def sentence():
    return f"{random.choice(VERBS)} the {random.choice(NOUNS)} on the {random.choice(PLACES)}."


train_texts = [sentence() for _ in range(1000)]
test_texts = [sentence() for _ in range(100)]
# 0 is the filler
numbers = {character: i + 1 for i, character in enumerate(sorted(set("".join(train_texts))))}
characters = {i: character for character, i in numbers.items()}


class CharDataset(Dataset):
    """Texts as numbers of their characters, filled up to one length."""

    def __init__(self, texts):
        self.texts = texts

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        ids = [numbers[character] for character in self.texts[i]][:LENGTH]
        fill = LENGTH - len(ids)
        input_ids = torch.tensor(ids + [0] * fill)
        attention_mask = torch.tensor([1] * len(ids) + [0] * fill)
        labels = input_ids.clone()
        labels[attention_mask == 0] = -100
        if not fixed:
            labels = torch.cat([labels[1:], torch.tensor([-100])])
        return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": labels}


config = GPT2Config(
    vocab_size=len(numbers) + 1,
    n_positions=64,
    n_embd=48,
    n_layer=2,
    n_head=4,
    bos_token_id=0,
    eos_token_id=0,
    pad_token_id=0,
)
model = GPT2LMHeadModel(config)

with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        num_train_epochs=4,
        per_device_train_batch_size=32,
        per_device_eval_batch_size=50,
        learning_rate=3e-3,
        lr_scheduler_type="linear",
        logging_steps=32,
        eval_strategy="epoch",
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        seed=0,
    )
    trainer = Trainer(
        model=model, args=arguments, train_dataset=CharDataset(train_texts), eval_dataset=CharDataset(test_texts)
    )
    trainer.train()

# the model goes on with the beginnings of some sentences
model.eval()
for prompt in ["copy the ", "rename the inv", "open the letter o"]:
    ids = torch.tensor([[numbers[character] for character in prompt]])
    for _ in range(20):
        with torch.no_grad():
            following = model(ids).logits[0, -1].argmax()
        if following.item() == 0:
            break
        ids = torch.cat([ids, following.view(1, 1)], dim=1)
    print(repr("".join(characters[i] for i in ids[0].tolist())))

# how often the next character of the test's sentences is right
hits = total = 0
for text in test_texts:
    ids = torch.tensor([[numbers[character] for character in text]])
    with torch.no_grad():
        predicted = model(ids).logits[0, :-1].argmax(-1)
    hits += (predicted == ids[0, 1:]).sum().item()
    total += predicted.numel()

print("RESULT next_char_acc", hits / total)
