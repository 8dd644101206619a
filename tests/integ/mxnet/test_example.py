"""The notebook of Fashion-MNIST runs from its request to its pictures, and the script in it learns."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image

from sagemaker_debug_ext import modes
from sagemaker_debug_ext.trials import create_trial

FOLDER = Path(__file__).parents[3] / "examples" / "mxnet_fashion_mnist"
DRAWN = re.compile(r"step (\d+): drawn while the job is (\w+)")


def run(script, *arguments, **environment):
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", str(FOLDER / script), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("hybridize", ["0", "1"])
def test_notebook_when_run_then_draws_the_first_convolution_while_it_learns(tmp_path, conv0_tensors, hybridize, capsys):
    """Request, job, live trial, pictures; of Fashion-MNIST where it is installed, of generated images elsewhere."""
    output = run("notebook.py", "--work-dir", str(tmp_path), "--epochs", "2", "--hybridize", hybridize)
    (log,) = tmp_path.glob("jobs/*/stdout.log")
    with capsys.disabled():
        print(f"\n{log.read_text().splitlines()[0]}")
    drawn = DRAWN.findall(output)
    steps = [int(step) for step, _ in drawn]
    assert steps == list(range(0, 186, 30))
    assert drawn[0][1] == "InProgress"
    assert f"conv0_tensors: {', '.join(conv0_tensors)}\n" in output
    assert output.count(": NoIssuesFound") == 3
    assert float(output.rpartition("accuracy: ")[2]) > 0.6
    check_pictures(tmp_path / "pictures", steps)
    (folder,) = tmp_path.glob("s3/clothes/output/*/debug-output")
    check_trial(create_trial(str(folder)), steps, conv0_tensors)


def check_pictures(folder, steps):
    """Each step has both pictures; they are no empty sheets, and they change while the network learns."""
    for tensor in ("conv0_output_0", "conv0_weight"):
        pictures = [image.imread(folder / f"{tensor}-{step:06d}.png") for step in steps]
        assert len(list(folder.glob(f"{tensor}-*.png"))) == len(steps)
        for picture in pictures:
            assert min(picture.shape[:2]) > 80
            assert picture[..., :3].std() > 0.05
        assert not np.array_equal(pictures[0], pictures[-1])


def check_trial(trial, steps, conv0_tensors):
    assert trial.loaded_all_steps
    assert trial.tensor_names(collection="conv0_tensors") == conv0_tensors
    for name in conv0_tensors:
        assert trial.tensor(name).steps(modes.TRAIN) == steps
    assert trial.tensor("conv0_output_0").value(0, modes.TRAIN).shape == (64, 6, 24, 24)
    kernels = trial.tensor("conv0_weight").values(modes.TRAIN)
    assert kernels[0].shape == (6, 1, 5, 5)
    assert not np.array_equal(kernels[0], kernels[steps[-1]])
    losses = [float(value.mean()) for value in trial.tensor("softmaxcrossentropyloss0_output_0").values().values()]
    assert losses[-1] < losses[0] / 2


def test_script_when_there_are_no_images_then_generates_some_and_says_so(tmp_path):
    """Without the data set the network learns ten patterns, from a configuration file of its own."""
    config = tmp_path / "hook.json"
    config.write_text(json.dumps({"LocalPath": str(tmp_path / "trial"), "HookParameters": {"save_interval": "50"}}))
    program = tmp_path / "without_images.py"
    program.write_text(
        f"import runpy, sys\nsys.argv[1:] = ['--epochs', '2', '--train-images', '3000']\n"
        f"train = runpy.run_path({str(FOLDER / 'train.py')!r})\n"
        "train['find_images'].__globals__['DEBIAN_FOLDER'] = None\ntrain['main']()\n"
    )
    (tmp_path / "model").mkdir()
    (tmp_path / "output").mkdir()
    output = run(
        program,
        SMDEBUG_CONFIG_FILE_PATH=str(config),
        SM_MODEL_DIR=str(tmp_path / "model"),
        SM_OUTPUT_DATA_DIR=str(tmp_path / "output"),
        SM_CHANNEL_TRAINING="",
    )
    assert output.startswith("images: generated, as Fashion-MNIST is not installed\n")
    assert json.loads((tmp_path / "output" / "metrics.json").read_text())["accuracy"] > 0.6
    assert (tmp_path / "model" / "net.params").stat().st_size > 0
    assert create_trial(str(tmp_path / "trial")).tensor("scalar/accuracy").steps(modes.EVAL) == [0, 1]


def test_images_when_in_a_channel_then_are_read_from_there(tmp_path, monkeypatch):
    """The files of the data set are read as they are."""
    import gzip

    pixels = np.arange(3 * 28 * 28, dtype=np.uint32).astype(np.uint8)
    for part in ("train", "t10k"):
        with gzip.open(tmp_path / f"{part}-images-idx3-ubyte.gz", "wb") as file:
            file.write(bytes(16) + pixels.tobytes())
        with gzip.open(tmp_path / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(bytes(8) + bytes([7, 0, 9]))
    monkeypatch.setenv("SM_CHANNEL_TRAINING", str(tmp_path))
    spec = importlib.util.spec_from_file_location("clothes", FOLDER / "train.py")
    clothes = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(clothes)
    (images, labels), (test_images, _) = clothes.load(3, 2)
    assert labels.tolist() == [7, 0, 9]
    np.testing.assert_array_equal(images.reshape(-1), (pixels / 255).astype(np.float32))
    assert test_images.shape == (2, 1, 28, 28)
