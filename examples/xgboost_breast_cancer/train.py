"""Train boosted trees that tell malignant from benign tumours, with their tensors captured.

The script trains on the 569 cases (30 measurements each) that scikit-learn ships, or on `train.csv` and
`validation.csv` (the label in the first column) in the folders that the environment variables SM_CHANNEL_TRAIN and
SM_CHANNEL_VALIDATION name. It is an ordinary script for a SageMaker training job with a hook; the
job's hook configuration file selects tensors and rounds.

To run it elsewhere, create such a file, set the environment variable to its path, and start the script:

    echo '{"LocalPath": "/tmp/tumours", "CollectionConfigurations": [{"CollectionName": "average_shap"}]}' > hook.json
    SMDEBUG_CONFIG_FILE_PATH=hook.json python train.py --num-round 50
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numpy as np
import xgboost as xgb

import sagemaker_debug_ext.xgboost as smd

SHARE_OF_VALIDATION = 0.25


def read_channel(folder: str, name: str) -> xgb.DMatrix:
    table = np.loadtxt(Path(folder) / name, delimiter=",")
    return xgb.DMatrix(table[:, 1:], label=table[:, 0])


def load_data(seed: int) -> tuple[xgb.DMatrix, xgb.DMatrix]:
    """Return the data to train on, and those to validate with."""
    train, validation = os.environ.get("SM_CHANNEL_TRAIN"), os.environ.get("SM_CHANNEL_VALIDATION")
    if train and validation:
        return read_channel(train, "train.csv"), read_channel(validation, "validation.csv")
    from sklearn import datasets  # noqa: PLC0415 - not needed where channels bring the data

    cases = datasets.load_breast_cancer()
    order = np.random.default_rng(seed).permutation(len(cases.target))
    split = int(len(order) * SHARE_OF_VALIDATION)
    validating, training = (
        xgb.DMatrix(cases.data[rows], label=cases.target[rows], feature_names=list(cases.feature_names))
        for rows in (order[:split], order[split:])
    )
    return training, validating


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-round", type=int, default=50)
    parser.add_argument("--max-depth", type=int, default=3)
    parser.add_argument("--eta", type=float, default=0.1)
    parser.add_argument("--subsample", type=float, default=0.8)
    parser.add_argument("--early-stopping-rounds", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--num-threads", type=int, default=1, help="CPU threads; the data are too few for many")
    return parser.parse_args()


def train(arguments: argparse.Namespace) -> tuple[xgb.Booster, dict[str, float]]:
    training, validation = load_data(arguments.seed)
    parameters = {
        "objective": "binary:logistic",
        "eval_metric": ["logloss", "auc"],
        "max_depth": arguments.max_depth,
        "eta": arguments.eta,
        "subsample": arguments.subsample,
        "seed": arguments.seed,
        "nthread": arguments.num_threads,
    }
    hook = smd.Hook.create_from_json_file()
    hook.hyperparameters = parameters
    hook.train_data, hook.validation_data = training, validation
    history: dict[str, dict[str, list[float]]] = {}
    model = xgb.train(
        parameters,
        training,
        arguments.num_round,
        evals=[(training, "train"), (validation, "validation")],
        early_stopping_rounds=arguments.early_stopping_rounds,
        evals_result=history,
        verbose_eval=10,
        callbacks=[hook],
    )
    accuracy = float(((model.predict(validation) > 0.5) == validation.get_label()).mean())
    hook.save_scalar("accuracy", accuracy)
    hook.close()
    return model, {"accuracy": accuracy, "validation_auc": history["validation"]["auc"][-1]}


def main() -> None:
    model, metrics = train(parse_arguments())
    print(f"accuracy={metrics['accuracy']:.4f} validation_auc={metrics['validation_auc']:.4f}", flush=True)
    model_dir, output_dir = os.environ.get("SM_MODEL_DIR"), os.environ.get("SM_OUTPUT_DATA_DIR")
    if model_dir:
        model.save_model(Path(model_dir) / "model.ubj")
    if output_dir:
        (Path(output_dir) / "metrics.json").write_text(json.dumps(metrics))


if __name__ == "__main__":
    main()
