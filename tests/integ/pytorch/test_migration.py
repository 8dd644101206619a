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
