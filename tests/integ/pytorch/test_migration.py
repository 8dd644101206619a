"""What examples for smdebug's PyTorch hook use although it is not public."""

import torch

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.trials import create_trial


def make_hook(folder, **arguments):
    hook = smd.Hook(out_dir=str(folder), save_config=smd.SaveConfig(save_interval=1), **arguments)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    hook.register_module(model)
    return hook, model


def test_tensorboard_folder_when_export_is_on_then_is_known(tmp_path):
    """Scripts give it to TensorBoard; without export there is none."""
    with make_hook(tmp_path / "a", export_tensorboard=True)[0] as hook:
        assert hook.tensorboard_dir == f"{tmp_path}/a/tensorboard"
    with make_hook(tmp_path / "b", tensorboard_dir=str(tmp_path / "tb"))[0] as hook:
        assert hook.tensorboard_dir == str(tmp_path / "tb")
    with make_hook(tmp_path / "c")[0] as hook:
        assert hook.tensorboard_dir is None


def test_mode_steps_when_read_then_are_the_last_of_each_mode(tmp_path):
    """The counters of skipped steps are up to date."""
    hook, model = make_hook(tmp_path / "a")
    assert hook.mode_steps == {smd.modes.GLOBAL: -1}
    for mode, number in ((smd.modes.TRAIN, 3), (smd.modes.EVAL, 1)):
        hook.set_mode(mode)
        for _ in range(number):
            model(torch.ones(1, 2))
    assert hook.mode_steps == {smd.modes.GLOBAL: 3, smd.modes.TRAIN: 2, smd.modes.EVAL: 0}
    hook._cleanup()
    assert create_trial(str(tmp_path / "a")).loaded_all_steps


def test_raw_tensor_when_written_simply_then_is_saved_whatever_the_collections(tmp_path):
    """Images of an example are saved from a forward hook of the script's own."""
    hook, model = make_hook(tmp_path / "a")
    model[1].register_forward_hook(lambda *_: hook._write_raw_tensor_simple("image_0", torch.ones(2, 2)))
    model(torch.ones(1, 2))
    hook.close()
    assert create_trial(str(tmp_path / "a")).tensor("image_0").value(0).tolist() == [[1, 1], [1, 1]]


class NetworkWithNorm(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))


class GradientHook(smd.Hook):
    """As hooks of published examples: gradients of activations, and statistics of layers."""

    def forward_hook(self, module, inputs, outputs):
        name = self.module_maps[module]
        self._write_inputs(name, inputs)
        if self.mode == smd.modes.TRAIN:
            outputs.register_hook(self.backward_hook(f"{name}_output"))
        if isinstance(module, torch.nn.BatchNorm1d):
            self._write_outputs(f"{name}.running_mean", module.running_mean)
        self._write_outputs(name, outputs)
        self.last_saved_step = self.step


def train(hook, num_steps=2):
    torch.manual_seed(0)
    model = NetworkWithNorm()
    hook.register_module(model)
    hook.set_mode(smd.modes.TRAIN)
    for _ in range(num_steps):
        model(torch.ones(4, 2, requires_grad=True)).square().sum().backward()
    hook.close()
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert not any(parameter._backward_hooks for parameter in model.parameters())
    return None if hook.failure else create_trial(hook.out_dir)


def hook_of(kind, folder, **arguments):
    every = smd.SaveConfig(save_interval=1)
    return kind(out_dir=str(folder), save_config=every, **{"save_all": True, **arguments})


def test_forward_hook_when_overridden_then_decides_what_is_saved_of_modules(tmp_path):
    """What the subclass writes is saved under its names; parameters and their gradients are as ever."""
    trial = train(hook_of(GradientHook, tmp_path / "a", strict=True))
    plain = train(hook_of(smd.Hook, tmp_path / "b", strict=True))
    added = {"1.running_mean_output_0", "gradient/0_output", "gradient/1_output", "gradient/NetworkWithNorm_output"}
    assert set(trial.tensor_names()) == set(plain.tensor_names()) | added
    for name in plain.tensor_names():
        assert trial.tensor(name).steps() == plain.tensor(name).steps() == [0, 1]
        for step in (0, 1):
            assert (trial.tensor(name).value(step) == plain.tensor(name).value(step)).all(), name
    assert trial.tensor("1.running_mean_output_0").steps() == [0, 1]


def test_forward_hook_when_no_collection_asks_then_nothing_is_saved_of_modules(tmp_path):
    """The subclass is called at every step; the collections decide."""
    trial = train(hook_of(GradientHook, tmp_path, save_all=False, include_collections=["weights"], strict=True))
    assert trial.tensor_names() == ["NetworkWithNorm_0.weight", "NetworkWithNorm_1.weight"]


def test_callbacks_when_they_call_super_then_save_what_the_hook_saves(tmp_path):
    """Nothing is saved twice, and each is called as often as in the original."""
    calls = []

    class Counting(smd.Hook):
        def forward_pre_hook(self, module, inputs):
            calls.append("pre")
            super().forward_pre_hook(module, inputs)

        def forward_hook(self, module, inputs, outputs):
            calls.append("forward")
            super().forward_hook(module, inputs, outputs)

        def backward_hook(self, tname):
            calls.append("backward")
            return super().backward_hook(tname)

    trial = train(hook_of(Counting, tmp_path / "a", strict=True))
    plain = train(hook_of(smd.Hook, tmp_path / "b", strict=True))
    assert trial.tensor_names() == plain.tensor_names()
    assert all(trial.tensor(name).steps() == [0, 1] for name in plain.tensor_names())
    assert (calls.count("pre"), calls.count("forward"), calls.count("backward")) == (2, 6, 4)


def test_callback_when_it_raises_then_training_goes_on(tmp_path):
    """The error of a subclass is logged, and saving is off."""

    class Failing(smd.Hook):
        def forward_hook(self, module, inputs, outputs):
            raise KeyError("mine")

    hook = hook_of(Failing, tmp_path)
    train(hook)
    assert isinstance(hook.failure, KeyError)
