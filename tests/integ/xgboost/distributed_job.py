"""Trains in two processes that talk over XGBoost's own network; run by `test_distributed`.

python distributed_job.py FOLDER INCLUDE_WORKERS
python distributed_job.py FOLDER -        trains the same without a hook
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import xgboost as xgb
from xgboost import collective
from xgboost.tracker import RabitTracker

import sagemaker_debug_ext.xgboost as smd

NUM_WORKERS = 2
PARAMETERS = {"objective": "binary:logistic", "max_depth": 3, "tree_method": "hist", "nthread": 1}
COLLECTIONS = ["predictions", "labels", "feature_importance", "average_shap", "full_shap", "trees"]


def work(folder: Path, include_workers: str, connection: dict[str, object]) -> None:
    # Made before the workers know each other: who this process is, is asked at the first step.
    hooks = []
    if include_workers != "-":
        hooks.append(
            smd.Hook(
                folder / "trial",
                save_config=smd.SaveConfig(save_interval=1),
                include_collections=COLLECTIONS,
                include_workers=include_workers,
                strict=True,
            )
        )
    with collective.CommunicatorContext(**connection):
        rank = collective.get_rank()
        features = np.random.default_rng(rank).random((100, 4))
        matrix = xgb.DMatrix(features, label=(features.sum(axis=1) > 2).astype(int))
        for hook in hooks:
            hook.train_data = hook.validation_data = matrix
        schedule = xgb.callback.LearningRateScheduler([0.3, 0.2, 0.1])  # has XGBoost configure itself each round
        model = xgb.train(
            PARAMETERS, matrix, 3, evals=[(matrix, "train")], callbacks=[*hooks, schedule], verbose_eval=False
        )
        for hook in hooks:
            hook.close()
    (folder / f"model-{include_workers}-{rank}.json").write_bytes(model.save_raw("json"))


def main() -> None:
    folder, include_workers = Path(sys.argv[1]), sys.argv[2]
    if len(sys.argv) > 3:
        work(folder, include_workers, json.loads(sys.argv[3]))
        return
    tracker = RabitTracker(n_workers=NUM_WORKERS, host_ip="127.0.0.1", sortby="task")
    tracker.start()
    workers = []
    for rank in range(NUM_WORKERS):
        connection = {**tracker.worker_args(), "dmlc_task_id": str(rank)}
        workers.append(subprocess.Popen([sys.executable, __file__, *sys.argv[1:3], json.dumps(connection)]))
    statuses = [worker.wait() for worker in workers]
    if any(statuses):
        sys.exit(f"workers ended with {statuses}")
    tracker.wait_for()


if __name__ == "__main__":
    main()
