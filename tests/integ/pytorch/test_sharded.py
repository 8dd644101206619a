"""Models spread over processes: each worker saves its shard, and the shape of the whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugValueError
from sagemaker_debug_ext.trials import create_trial

JOB = Path(__file__).with_name("sharded_job.py")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def run_job(folder, *arguments):
    report = subprocess.run(
        [sys.executable, str(JOB), str(folder), *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert report.returncode == 0, report.stderr
    return create_trial(str(folder / "trial"))


SHARDS = {
    "fully_shard": {"Sequential_0.weight": ((6, 4), (3, 4)), "Sequential_2.weight": ((2, 6), (1, 6))},
    "parallel": {"Sequential_0.weight": ((6, 4), (3, 4)), "Sequential_2.weight": ((2, 6), (2, 3))},
}


@pytest.mark.parametrize("kind", SHARDS)
def test_shards_when_model_is_spread_then_each_worker_saves_its_own(tmp_path, kind):
    """Training ends the same to the bit; shards of weights and gradients carry the shape of the whole.

    The job itself asserts that in no step anything is exchanged that is not exchanged without the hook.
    """
    trial = run_job(tmp_path, kind)
    assert trial.workers() == ["worker_0", "worker_1"]
    assert trial.steps(smd.modes.TRAIN) == [0, 2]
    for name, (whole, shard) in SHARDS[kind].items():
        for tensor in (trial.tensor(name), trial.tensor(f"gradient/{name}")):
            for step in (0, 2):
                for worker in trial.workers():
                    assert tensor.value(step, smd.modes.TRAIN, worker=worker).shape == shard
                    assert tensor.shape(step, smd.modes.TRAIN, worker=worker) == whole


@pytest.mark.parametrize(("kind", "include_workers"), [("fully_shard", "one"), ("parallel", "all")])
def test_shards_when_gathered_then_the_first_worker_saves_the_whole(tmp_path, kind, include_workers):
    """What was asked for is saved once, as PyTorch itself puts it together; the other tensors stay shards.

    The job itself asserts that training ends the same to the bit, and that nothing is exchanged at other steps.
    """
    trial = run_job(tmp_path, kind, include_workers, r"0\.weight")
    wholes = torch.load(tmp_path / "wholes.pt")
    for name in ("Sequential_0.weight", "gradient/Sequential_0.weight"):
        tensor = trial.tensor(name)
        assert tensor.steps(smd.modes.TRAIN) == [0, 2]
        for step in (0, 2):
            assert tensor.workers(step, smd.modes.TRAIN) == ["worker_0"]
            assert torch.equal(torch.tensor(tensor.value(step, smd.modes.TRAIN)), wholes[f"{step} {name}"])
    other = trial.tensor("gradient/Sequential_2.weight")
    assert other.value(2, smd.modes.TRAIN).size == wholes["2 gradient/Sequential_2.weight"].numel() // 2
    assert other.workers(2, smd.modes.TRAIN) == ["worker_0", "worker_1"][: len(trial.workers())]
    assert len(trial.workers()) == (2 if include_workers == "all" else 1)


@pytest.fixture
def alone():
    """A job of one process."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class TestGather:
    def test_training_when_others_are_gone_then_goes_on_without_whole_tensors(self, alone, tmp_path, caplog):
        """What cannot be gathered is left out; everything else is saved on."""
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

        model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Linear(2, 1))
        parallelize_module(model, init_device_mesh("cpu", (1,)), {"0": ColwiseParallel()})
        with smd.Hook(
            tmp_path / "out", save_config=smd.SaveConfig(save_interval=1), include_collections=["weights"]
        ) as hook:
            hook.register_module(model)
            hook.gather("0.weight$")
            for step in range(3):
                model(torch.ones(1, 4))
                if step == 0:
                    dist.destroy_process_group(hook._full_tensors.gathering._group)
        assert hook.failure is None
        assert caplog.text.count("tensors are no longer gathered") == 1
        trial = create_trial(str(tmp_path / "out"))
        assert trial.tensor("Sequential_0.weight").steps() == [0]
        assert trial.tensor("Sequential_1.weight").steps() == [0, 1, 2]

    def test_gather_when_a_step_has_begun_then_refuses(self, tmp_path):
        """All processes have to know from the start."""
        with smd.Hook(tmp_path / "out") as hook:
            model = torch.nn.Linear(1, 1)
            hook.register_module(model)
            model(torch.ones(1, 1))
            with pytest.raises(SMDebugRuntimeError, match="before the first step"):
                hook.gather("weight")

    def test_gather_when_pattern_is_none_then_refuses(self, tmp_path):
        """A regular expression that does not compile is told at once."""
        with smd.Hook(tmp_path / "out") as hook, pytest.raises(SMDebugValueError, match=r"gather\(\)"):
            hook.gather("(")


class TestFullyShard:
    """A job of one process, whose parameters are shards all the same."""

    @pytest.fixture
    def shard(self, alone):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (1,))
        return lambda module: fully_shard(module, mesh=mesh)

    @pytest.mark.parametrize("gathered", [(), ("weight",)], ids=["shards", "gathered"])
    def test_training_when_evaluated_between_then_goes_on_and_shards_are_saved(self, shard, tmp_path, gathered):
        """Without a backward pass PyTorch leaves the whole parameters in place, and frees them later."""
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
        shard(model[0])
        shard(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        expected = []
        with smd.Hook(
            tmp_path / "out",
            save_config=smd.SaveConfig(save_interval=1),
            include_collections=["weights", "gradients"],
            strict=True,
        ) as hook:
            hook.register_module(model)
            hook.gather(*gathered)
            for _ in range(2):
                hook.set_mode(smd.modes.TRAIN)
                model(torch.ones(2, 3)).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
                hook.set_mode(smd.modes.EVAL)
                with torch.no_grad():
                    for _ in range(2):
                        model(torch.ones(2, 3))
                        expected.append(model[1].weight.detach().clone())
        trial = create_trial(str(tmp_path / "out"))
        for name in ("Sequential_0.weight", "Sequential_1.weight"):
            assert trial.tensor(name).steps() == list(range(6))
            assert trial.tensor(f"gradient/{name}").steps(smd.modes.TRAIN) == [0, 1]
        for step, weight in enumerate(expected):
            found = trial.tensor("Sequential_1.weight").value(step, smd.modes.EVAL)
            assert torch.equal(torch.tensor(found), weight)

    @pytest.mark.parametrize("gathered", [(), ("weight",)], ids=["shards", "gathered"])
    def test_gradients_when_models_have_optimizers_of_their_own_then_each_is_its_own(self, shard, tmp_path, gathered):
        """The first optimizer's update says nothing about gradients that are yet to come."""

        class First(torch.nn.Linear):
            pass

        class Second(torch.nn.Linear):
            pass

        models = [shard(First(3, 3)), shard(Second(3, 3))]
        optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
        with smd.Hook(
            tmp_path / "out",
            save_config=smd.SaveConfig(save_interval=1),
            include_collections=["gradients"],
            explicit_steps=True,
            strict=True,
        ) as hook:
            for model in models:
                hook.register_module(model)
            hook.gather(*gathered)
            for step in range(3):
                for model, optimizer in list(zip(models, optimizers, strict=True))[: 1 if step == 2 else 2]:
                    optimizer.zero_grad()
                    (model(torch.ones(1, 3)).sum() * (step + 1)).backward()
                    optimizer.step()
                hook.step()
        trial = create_trial(str(tmp_path / "out"))
        for name, steps in (("First", [0, 1, 2]), ("Second", [0, 1])):
            values = trial.tensor(f"gradient/{name}_weight").values()
            assert {step: value.max() for step, value in values.items()} == {step: step + 1 for step in steps}

    @pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
    @pytest.mark.parametrize("gathered", [(), ("weight",)], ids=["shards", "gathered"])
    def test_update_when_compiled_then_is_compiled_as_without_hook(self, shard, tmp_path, caplog, gathered):
        """The hook is not traced, and nothing is compiled anew; that the gradients are not seen is said once."""
        from torch._dynamo.utils import counters

        def train(hook):
            torch._dynamo.reset()
            counters.clear()
            torch.manual_seed(0)
            model = shard(torch.nn.Linear(3, 2))
            if hook is not None:
                hook.register_module(model)
                hook.gather(*gathered)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            update = torch.compile(optimizer.step, backend="aot_eager")
            for _ in range(4):
                optimizer.zero_grad()
                model(torch.ones(1, 3)).sum().backward()
                update()
            return model.weight.full_tensor().tolist(), dict(counters["frames"])

        without = train(None)
        with smd.Hook(
            tmp_path / "out",
            save_config=smd.SaveConfig(save_interval=2),
            include_collections=["weights", "gradients"],
            strict=True,
        ) as hook:
            assert train(hook) == without
        trial = create_trial(str(tmp_path / "out"))
        assert trial.tensor("Linear_weight").steps() == [0, 2]
        assert "gradient/Linear_bias" not in trial.tensor_names()
        assert caplog.text.count("no update by an optimizer was seen") == 1


class TestDistributedValues:
    """Inputs, outputs and losses that are spread over processes."""

    @pytest.mark.parametrize("detect_losses", [False, True])
    def test_loss_when_parallel_then_is_saved_with_what_the_process_has_of_the_outputs(
        self, alone, tmp_path, caplog, detect_losses
    ):
        """A sum that the processes have yet to add up is nobody's loss, and left out."""
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.parallel import ColwiseParallel, loss_parallel, parallelize_module

        mesh = init_device_mesh("cpu", (1,))
        model = torch.nn.Sequential(torch.nn.Linear(4, 6))
        parallelize_module(model, mesh, {"0": ColwiseParallel(use_local_output=False)})
        losses = []
        with smd.Hook(
            tmp_path / "out",
            save_config=smd.SaveConfig(save_interval=1),
            save_all=True,
            detect_losses=detect_losses,
            strict=True,
        ) as hook:
            hook.register_module(model)
            for _ in range(2):
                with loss_parallel():
                    output = model(torch.ones(3, 4))
                    loss = torch.nn.functional.cross_entropy(output, torch.tensor([0, 1, 2]))
                    if not detect_losses:
                        hook.record_tensor_value("loss", loss)
                    loss.backward()
                losses.append(loss.full_tensor().item())
            hook.record_tensor_value("partial", output.sum())
        trial = create_trial(str(tmp_path / "out"))
        assert [trial.tensor("loss_output_0").value(step).item() for step in (0, 1)] == losses
        assert trial.tensor("0_input_0").value(1).shape == (3, 4)
        assert torch.equal(torch.tensor(trial.tensor("Sequential_output_0").value(1)), output.to_local().detach())
        assert trial.tensor("Sequential_output_0").shape(1) == (3, 6)
        assert "partial_output_0" not in trial.tensor_names()
        assert caplog.text.count("partial_output_0 is not saved") == 1
        assert "no update by an optimizer" not in caplog.text
