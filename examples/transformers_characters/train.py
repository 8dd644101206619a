"""Train a small GPT-2 on the characters of a text with Hugging Face's trainer, with its tensors captured.

The text is `text.txt` in the folder that the environment variable SM_CHANNEL_TRAINING names, or this script itself.
The job's hook configuration file selects the tensors and steps to capture. To run the script outside a job, create such
a file, set the environment variable to its path, and start the script:

    echo '{"LocalPath": "/tmp/characters", "HookParameters": {"save_interval": "10"}}' > hook.json
    SMDEBUG_CONFIG_FILE_PATH=hook.json python train.py --epochs 2
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

from sagemaker_debug_ext.transformers import DebuggerCallback

WINDOW = 32
NUM_VALIDATION_WINDOWS = 16


def load_windows() -> list[dict[str, Tensor]]:
    """Return pieces of the text, as numbers of their bytes; what comes next is to be learned at every place."""
    channel = os.environ.get("SM_CHANNEL_TRAINING")
    path = Path(channel) / "text.txt" if channel else Path(__file__)
    text = torch.tensor(list(path.read_bytes()))
    return [{"input_ids": piece, "labels": piece} for piece in text.split(WINDOW) if len(piece) == WINDOW]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--batches-per-update", type=int, default=2)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    set_seed(arguments.seed)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=WINDOW, n_embd=32, n_layer=2, n_head=2))
    windows = load_windows()
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model,
            TrainingArguments(
                output_dir=folder,
                num_train_epochs=arguments.epochs,
                per_device_train_batch_size=arguments.batch_size,
                gradient_accumulation_steps=arguments.batches_per_update,
                learning_rate=arguments.learning_rate,
                seed=arguments.seed,
                eval_strategy="epoch",
                logging_steps=5,
                save_strategy="no",
                report_to=[],
                use_cpu=not torch.cuda.is_available(),
                disable_tqdm=True,
            ),
            train_dataset=windows[NUM_VALIDATION_WINDOWS:],
            eval_dataset=windows[:NUM_VALIDATION_WINDOWS],
            callbacks=[DebuggerCallback()],
        )
        result = trainer.train()
    print(f"train_loss={result.training_loss:.4f}", flush=True)
    model_dir = os.environ.get("SM_MODEL_DIR")
    if model_dir:
        torch.save(model.state_dict(), Path(model_dir) / "model.pt")


if __name__ == "__main__":
    main()
