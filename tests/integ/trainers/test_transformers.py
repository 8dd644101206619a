"""The callback of Hugging Face's trainer."""

from __future__ import annotations

import json

import pytest

transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

import torch  # noqa: E402

import sagemaker_debug_ext.pytorch as smd  # noqa: E402
from sagemaker_debug_ext.transformers import DebuggerCallback  # noqa: E402
from sagemaker_debug_ext.trials import create_trial  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def train(folder, callbacks):
    transformers.set_seed(0)
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, num_labels=2
    )
    model = transformers.BertForSequenceClassification(config)
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, 50, (24, 6), generator=generator)
    data = [{"input_ids": row, "labels": row[0] % 2} for row in tokens]
    arguments = transformers.TrainingArguments(
        str(folder),
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        num_train_epochs=1,
        eval_strategy="epoch",
        per_device_eval_batch_size=12,
        logging_steps=1,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer = transformers.Trainer(model, arguments, train_dataset=data, eval_dataset=data, callbacks=callbacks)
    trainer.train()
    return model


def test_trainer_when_callback_is_given_then_each_update_is_a_step(make_hook, tmp_path):
    """Steps are updates, evaluation has its own; training ends the same to the bit."""
    without = train(tmp_path / "a", None).state_dict()
    hook = make_hook(detect_losses=True, include_regex=["BertForSequenceClassification_output"])
    attached = train(tmp_path / "b", [DebuggerCallback(hook)]).state_dict()
    assert hook.failure is None
    assert all(torch.equal(tensor, attached[name]) for name, tensor in without.items())
    trial = create_trial(hook.out_dir)
    assert trial.steps(smd.modes.TRAIN) == [0, 1, 2]
    assert trial.steps(smd.modes.EVAL) == [0, 1]
    names = trial.tensor_names()
    assert "BertForSequenceClassification_classifier.weight" in names
    assert "gradient/BertForSequenceClassification_bert.pooler.dense.weight" in names
    assert {"loss_output_0", "loss_output_1"} <= set(names)  # two batches a step
    assert "BertForSequenceClassification_output_0" in names  # the loss in the model's own output
    assert "scalar/eval_loss" in names


def test_callback_when_no_hook_is_given_then_losses_are_saved(tmp_path, monkeypatch):
    """A hook made from the configuration file finds the losses, which the model computes itself."""
    configuration = {"LocalPath": str(tmp_path / "out"), "HookParameters": {"save_interval": "1"}}
    (tmp_path / "hook.json").write_text(json.dumps(configuration))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    train(tmp_path / "run", [DebuggerCallback()])
    smd.del_hook()
    losses = create_trial(str(tmp_path / "out")).scalars(collection="losses")
    assert list(losses["loss_output_0"]) == [0, 1, 2]


def test_trainer_when_a_rule_of_a_self_managed_job_asks_to_stop_then_ends_early(make_hook, tmp_path):
    """After the step at which it hears of it."""
    hook = make_hook(detect_losses=True)
    hook._watcher.should_stop = True
    train(tmp_path / "a", [DebuggerCallback(hook)])
    assert create_trial(hook.out_dir).steps(smd.modes.TRAIN) == [0]
