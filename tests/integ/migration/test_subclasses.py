"""Subclasses of the PyTorch hook, as published examples write them, on both libraries."""

import warnings

import pytest

torch = pytest.importorskip("torch")


class Network(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))


@pytest.mark.filterwarnings("ignore")
def test_forward_hook_when_overridden_then_both_libraries_save_the_same(library, tmp_path):
    """Names and values are those of the original; the model is the same one."""
    smd = library.module("pytorch")

    class GradientHook(smd.Hook):
        def forward_hook(self, module, inputs, outputs):
            # The attribute of older releases of the original, which the examples use; 1.0.34 has another.
            name = self.module_maps[module] if hasattr(self, "module_maps") else module._module_name
            self._write_inputs(name, inputs)
            outputs.register_hook(self.backward_hook(f"{name}_output"))
            if isinstance(module, torch.nn.BatchNorm1d):
                self._write_outputs(f"{name}.running_mean", module.running_mean)
            self._write_outputs(name, outputs)
            self.last_saved_step = self.step

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hook = GradientHook(out_dir=str(tmp_path / "trial"), save_config=smd.SaveConfig(save_interval=1), save_all=True)
        torch.manual_seed(0)
        model = Network()
        hook.register_module(model)
        for _ in range(2):
            model(torch.ones(4, 2)).square().sum().backward()
        hook.close()
        smd.del_hook()
        trial = library.module("trials").create_trial(str(tmp_path / "trial"))
        parameters = ["0.bias", "0.weight", "1.bias", "1.weight"]
        assert trial.tensor_names() == sorted(
            [f"Network_{name}" for name in parameters]
            + [f"gradient/Network_{name}" for name in parameters]
            + [f"{name}_{side}_0" for name in ("0", "1", "Network") for side in ("input", "output")]
            + [f"gradient/{name}_output" for name in ("0", "1", "Network")]
            + ["1.running_mean_output_0"]
        )
        for name in trial.tensor_names():
            assert trial.tensor(name).steps() == [0, 1], name
        assert trial.tensor("gradient/Network_output").value(0).shape == (4, 3)
