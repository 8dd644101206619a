"""Blocks that MXNet runs as one graph are captured inside, and trained as without the hook."""

from __future__ import annotations

import gc

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon
from mxnet.gluon import nn

import sagemaker_debug_ext.mxnet as smd

HYBRIDISED = [{}, {"static_alloc": True}, {"static_alloc": True, "static_shape": True}]
TRAIN, GLOBAL = smd.modes.TRAIN, smd.modes.GLOBAL

pytestmark = pytest.mark.filterwarnings(
    r"ignore:[\s\S]*is being hybridized while still having forward hook:UserWarning"
)


def layers():
    """A network without random numbers of its own, which graphs draw in another order."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(2), nn.Flatten(), nn.Dense(5))
    return net


def without_names():
    """A network whose operations have no names of their own."""

    class Plain(gluon.HybridBlock):
        def __init__(self, units, **kwargs):
            super().__init__(**kwargs)
            self.fc = nn.Dense(units, prefix=f"fc{units}_")

        def hybrid_forward(self, ops, x):
            return ops.relu(ops.sqrt(ops.relu(self.fc(x)) + 1))

    net = nn.HybridSequential(prefix="")
    net.add(nn.Flatten(), Plain(7, prefix="first_"), Plain(5, prefix=""))
    return net


class Parts(gluon.HybridBlock):
    """A block whose parts return several arrays, and which calls one of them twice."""

    def __init__(self):
        super().__init__()
        self.split = Split(prefix="split_")
        self.fc = nn.Dense(4, prefix="fc_", flatten=False)

    def hybrid_forward(self, ops, x):
        left, right = self.split(x)
        return self.fc(self.fc(left)) + right


class Split(gluon.HybridBlock):
    def hybrid_forward(self, ops, x):
        return ops.split(x, num_outputs=2, axis=1)


class Residual(gluon.HybridBlock):
    """A block that hands its input on unchanged."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(4, prefix="fc_")
        self.same = nn.HybridLambda(lambda ops, x: x, prefix="same_")

    def hybrid_forward(self, ops, x):
        return self.fc(x) + self.same(x)


def run(hook, net, x):
    """Run a network once as registered."""
    net.initialize()
    net.hybridize()
    hook.register_block(net)
    with autograd.record():
        output = net(x)
    output.backward()
    return output


def all_values(trial):
    return {name: trial.tensor(name).values(TRAIN) for name in trial.tensor_names()}


@pytest.mark.parametrize("flags", HYBRIDISED, ids=["dynamic", "static_alloc", "static_shape"])
@pytest.mark.parametrize("model", [layers, without_names])
def test_tensors_when_hybridised_then_are_those_of_blocks_that_are_not(
    make_hook, open_trial, trainer, flags, model, caplog
):
    """Names, steps and values are the same, in the first step and later ones."""
    found = {}
    for name, hybridise in (("plain", None), ("graph", flags)):
        hook = make_hook(name, save_all=True, save_config=smd.SaveConfig(save_interval=2))
        trainer(hook, model, hybridise=hybridise).train(4)
        found[name] = all_values(open_trial(hook))
    assert list(found["graph"]) == list(found["plain"])
    for name, values in found["plain"].items():
        assert list(found["graph"][name]) == [0, 2]
        for step, value in values.items():
            np.testing.assert_array_equal(found["graph"][name][step], value, err_msg=f"{name} at step {step}")
    assert not [record for record in caplog.records if "not everything was saved" not in record.message]


@pytest.mark.parametrize("flags", HYBRIDISED, ids=["dynamic", "static_alloc", "static_shape"])
def test_training_when_everything_is_saved_then_is_the_same_to_the_bit(make_hook, trainer, flags):
    """Random numbers, losses and weights are those of a training without the hook."""
    plain = trainer(hybridise=flags).train(6)
    hook = make_hook(save_all=True, save_config=smd.SaveConfig(save_interval=2))
    captured = trainer(hook, hybridise=flags).train(6)
    for left, right in zip(plain.losses, captured.losses):  # noqa: B905
        assert left.asnumpy().tobytes() == right.asnumpy().tobytes()
    for name, value in plain.parameters.items():
        assert value.tobytes() == captured.parameters[name].tobytes()


def test_block_when_step_is_over_then_runs_its_own_graph_again(make_hook, trainer):
    """Only the calls of saved steps are watched; a backward pass after the hook is gone finds what it needs."""
    hook = make_hook(save_all=True, save_config=smd.SaveConfig(save_interval=2))
    training = trainer(hook, hybridise={})
    training.model(mx.nd.ones((6, 1, 8, 8)))
    own = training.model._cached_op
    with autograd.record():
        losses = training.forward()
        losses += training.forward()
    assert training.model._cached_op is own
    hook.close()
    gc.collect()
    for loss in losses:
        loss.backward()
    training.hook = None
    training.train(2)
    assert training.model._cached_op is own


def test_block_when_hybridised_again_then_new_graph_is_watched(make_hook, open_trial, trainer):
    """A script may change its mind between steps."""
    hook = make_hook(include_regex=["conv0_output"])
    training = trainer(hook, hybridise={}).train(1)
    training.model.hybridize(static_alloc=True)
    training.train(1)
    training.model.hybridize(active=False)
    training.train(1)
    assert open_trial(hook).tensor("conv0_output_0").steps(TRAIN) == [0, 1, 2]


def test_blocks_when_only_some_are_hybridised_then_all_are_captured(make_hook, open_trial):
    """A network may hold hybridised blocks beside others, and a loss may be one."""
    hook = make_hook(save_all=True)
    net = nn.Sequential()
    inner = nn.HybridSequential()
    inner.add(nn.Dense(3, activation="relu"))
    net.add(inner, nn.Dense(2))
    loss = gluon.loss.L2Loss()
    net.initialize()
    inner.hybridize()
    loss.hybridize()
    hook.register_block(net)
    hook.register_block(loss)
    with autograd.record():
        value = loss(net(mx.nd.ones((2, 4))), mx.nd.ones((2, 2)))
    value.backward()
    names = [name for name in open_trial(hook).tensor_names() if "output" in name]
    blocks = ["dense0", "dense0_relu", "dense1", "hybridsequential0", "l2loss0", "sequential0"]
    assert names == [f"{block}_output_0" for block in blocks]


def test_outputs_when_block_has_several_then_are_numbered(make_hook, open_trial, caplog):
    """Of a block that is called twice MXNet does not tell the calls apart: it is left out, with a word."""
    hook = make_hook(include_regex=["split_", "fc_"])
    run(hook, Parts(), mx.nd.arange(8).reshape((1, 8)))
    trial = open_trial(hook)
    puts = [name for name in trial.tensor_names() if "put" in name]
    assert puts == ["fc_input_0", "split_input_0", "split_output_0", "split_output_1"]
    np.testing.assert_array_equal(trial.tensor("split_output_1").value(0), [[4, 5, 6, 7]])
    assert "not all saved: fc;" in caplog.text


def test_input_when_handed_on_then_is_output_too(make_hook, open_trial, caplog):
    """What goes into the graph may come out of a block in it."""
    hook = make_hook(include_regex=["same_"])
    run(hook, Residual(), mx.nd.ones((2, 4)))
    trial = open_trial(hook)
    assert trial.tensor_names() == ["same_input_0", "same_output_0"]
    assert not [record for record in caplog.records if "not everything was saved" not in record.message]


def test_tensors_when_mxnet_works_like_numpy_then_are_captured(make_hook, open_trial):
    """With `npx.set_np` arrays and symbols are of other classes, and numbers have no dimension."""
    mx.npx.set_np()
    found = {}
    try:
        for hybridised in (False, True):
            hook = make_hook(str(hybridised), save_all=True)
            mx.random.seed(0)
            with mx.name.NameManager():
                net, loss = nn.HybridSequential(), gluon.loss.L2Loss()
                net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
            net.initialize()
            net.hybridize(active=hybridised)
            hook.register_block(net)
            hook.register_block(loss)
            trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
            for _ in range(2):
                with autograd.record():
                    value = loss(net(mx.np.ones((5, 3))), mx.np.ones((5, 2))).mean()
                value.backward()
                trainer.step(1)
                hook.save_scalar("mean_loss", value)
            trial = open_trial(hook)
            found[hybridised] = {name: trial.tensor(name).values() for name in trial.tensor_names()}
    finally:
        mx.npx.reset_np()
    assert len(found[True]) == 20
    assert list(found[False]) == list(found[True])
    for name, values in found[False].items():
        for step, value in values.items():
            np.testing.assert_array_equal(found[True][name][step], value)


def test_reductions_when_hybridised_then_are_there(make_hook, open_trial, trainer):
    """Numbers are made of inner tensors as of any other."""
    hook = make_hook(include_regex=["conv0_output"], reduction_config=smd.ReductionConfig(reductions=["mean", "std"]))
    trainer(hook, hybridise={}).train(1)
    assert set(open_trial(hook).tensor("conv0_output_0").reduction_values(0, TRAIN)) == {
        ("mean", False),
        ("std", False),
    }


def test_contexts_when_hybridised_then_all_are_captured(make_hook, open_trial, trainer):
    """Every part of a split batch is there."""
    hook = make_hook(include_regex=["conv0_output"])
    trainer(hook, hybridise={}, contexts=[mx.cpu(0), mx.cpu(1)]).train(2)
    trial = open_trial(hook)
    for name in ("conv0_output_0", "conv0_output_1"):
        assert trial.tensor(name).value(1, TRAIN).shape == (3, 4, 6, 6)


def test_forward_when_it_fails_then_error_is_the_scripts(make_hook, trainer):
    """An input of the wrong shape fails as without the hook, and training can go on."""
    hook = make_hook(save_all=True)
    training = trainer(hook, hybridise={}).train(1)
    with pytest.raises((mx.base.MXNetError, ValueError)):
        training.model(mx.nd.ones((6, 3, 9, 9))).wait_to_read()
    training.train(1)
    assert hook.failure is None


def test_insides_when_arrays_come_in_lists_then_says_so(make_hook, open_trial, caplog):
    """What cannot be captured is named, once."""

    class Sum(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(2, prefix="fc_")

        def hybrid_forward(self, ops, xs):
            return self.fc(xs[0] + xs[1])

    hook = make_hook(include_regex=["fc_", "sum"])
    net = Sum()
    net.initialize()
    net.hybridize()
    hook.register_block(net)
    for _ in range(2):
        net([mx.nd.ones((1, 2)), mx.nd.ones((1, 2))])
    assert [record.message for record in caplog.records] == [
        "inputs and outputs of blocks inside a hybridised block are not all saved: fc; everything else is"
    ]
    assert "sum0_output_0" in open_trial(hook).tensor_names()


def test_insides_when_a_back_end_has_changed_the_graph_then_says_so(make_hook, open_trial, trainer, caplog):
    """Everything outside is there, and training is as without the hook."""
    plain = trainer(hybridise={"backend": "MKLDNN"}).train(3)
    hook = make_hook(save_all=True)
    captured = trainer(hook, hybridise={"backend": "MKLDNN"}).train(3)
    for left, right in zip(plain.losses, captured.losses):  # noqa: B905
        assert left.asnumpy().tobytes() == right.asnumpy().tobytes()
    assert "not all saved: " in caplog.text
    names = open_trial(hook).tensor_names()
    assert {"hybridsequential0_output_0", "gradient/conv0_weight"} <= set(names)
    assert "conv0_output_0" not in names
