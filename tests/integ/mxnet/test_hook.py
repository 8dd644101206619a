"""What the MXNet hook captures, under which names, at which steps."""

from __future__ import annotations

import copy
import pickle
import sys
import types

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon
from mxnet.gluon import nn

import sagemaker_debug_ext.mxnet as smd
from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError, TensorUnavailable
from sagemaker_debug_ext.vocabulary import NORMS, REDUCTIONS

TRAIN, EVAL, GLOBAL = smd.modes.TRAIN, smd.modes.EVAL, smd.modes.GLOBAL


class Echo(gluon.Block):
    """Returns what its function makes of its inputs."""

    def __init__(self, function, **kwargs):
        super().__init__(**kwargs)
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Twice(gluon.HybridBlock):
    """Calls one block twice."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3)

    def hybrid_forward(self, ops, x):
        return ops.relu(self.fc(self.fc(x)))


def value(trial, name, step=0, mode=GLOBAL):
    return trial.tensor(name).value(step, mode)


def dense(units=1, **kwargs):
    block = nn.Dense(units, **kwargs)
    block.initialize()
    return block


class TestNames:
    def test_collection_when_it_is_the_notebooks_then_holds_its_tensors(
        self, make_hook, open_trial, trainer, conv0_tensors
    ):
        """A pattern for the first convolution finds its parameters, gradients, inputs, outputs, and its activation."""
        hook = make_hook(include_collections=["conv0_tensors"])
        hook.get_collection("conv0_tensors").include("conv0.*")
        trainer(hook).train(2)
        trial = open_trial(hook)
        assert trial.tensor_names(collection="conv0_tensors") == conv0_tensors
        assert trial.tensor_names() == [*conv0_tensors, "softmaxcrossentropyloss0_output_0"]
        assert value(trial, "conv0_input_0", 1, TRAIN).shape == (6, 1, 8, 8)
        before = value(trial, "conv0_relu_input_0", 1, TRAIN)
        np.testing.assert_array_equal(value(trial, "conv0_output_0", 1, TRAIN), np.maximum(before, 0))

    def test_everything_when_saved_then_every_block_is_named_by_its_prefix(self, make_hook, open_trial, trainer):
        """The whole network is there, the outer block and the loss included."""
        hook = make_hook(save_all=True)
        trainer(hook).train(1)
        blocks = ["conv0", "conv0_relu", "dense0", "dropout0", "flatten0", "hybridsequential0", "pool0"]
        expected = [f"{block}_{kind}_0" for block in blocks for kind in ("input", "output")]
        expected += [f"softmaxcrossentropyloss0_{kind}" for kind in ("input_0", "input_1", "output_0")]
        parameters = [f"{block}_{kind}" for block in ("conv0", "dense0") for kind in ("weight", "bias")]
        expected += parameters + [f"gradient/{name}" for name in parameters]
        assert open_trial(hook).tensor_names() == sorted(expected)

    @pytest.mark.parametrize(
        ("collection", "expected"),
        [
            ("weights", ["conv0_weight", "dense0_weight"]),
            ("biases", ["conv0_bias", "dense0_bias"]),
            (
                "gradients",
                [f"gradient/{name}" for name in ("conv0_bias", "conv0_weight", "dense0_bias", "dense0_weight")],
            ),
            ("losses", ["softmaxcrossentropyloss0_output_0"]),
        ],
    )
    def test_built_in_collection_when_saved_then_has_its_members(
        self, make_hook, open_trial, trainer, collection, expected
    ):
        """Each built-in collection finds its own, and only that is saved beside losses."""
        hook = make_hook(include_collections=[collection])
        trainer(hook).train(1)
        trial = open_trial(hook)
        assert trial.tensor_names(collection=collection) == expected
        assert set(trial.tensor_names()) == {*expected, "softmaxcrossentropyloss0_output_0"}

    @pytest.mark.parametrize("name", ["softmaxcrossentropyloss0", "l2loss10", "hingeloss123", "myloss", "TripletLoss"])
    def test_losses_when_loss_has_any_number_then_it_is_a_member(self, make_hook, name):
        """Blocks count on, so a loss made late has a number of several digits; one with a prefix may have none."""
        losses = make_hook().get_collection("losses")
        assert losses.matches(f"{name}_output_0")
        assert not losses.matches(f"{name}_input_0")

    def test_block_when_without_prefix_then_is_named_by_its_class(self, make_hook, open_trial):
        """A network made with an empty prefix still has a name for its output."""
        hook = make_hook(include_regex=["output"])
        net = nn.HybridSequential(prefix="")
        net.add(dense(2))
        hook.register_block(net)
        net(mx.nd.ones((1, 2)))
        assert open_trial(hook).tensor_names() == ["dense0_output_0", "hybridsequential_output_0"]

    def test_outputs_when_block_runs_twice_then_numbers_go_on(self, make_hook, open_trial):
        """Each call within a step has numbers of its own."""
        hook = make_hook(include_regex=["fc|dense"])
        model = Twice()
        model.initialize()
        hook.register_block(model)
        model(mx.nd.ones((2, 3)))
        names = [name for name in open_trial(hook).tensor_names() if "put" in name]
        assert names == [f"dense0_{kind}_{at}" for kind in ("input", "output") for at in (0, 1)]

    def test_tensors_when_nested_then_are_numbered_through(self, make_hook, open_trial):
        """Tuples, lists and dictionaries are looked into; what is no array is passed over."""
        hook = make_hook(include_regex=["echo"])
        model = Echo(lambda x, more: [x * 2, (x * 3, {"a": x * 4, "b": "text"}), more])
        hook.register_block(model)
        x = mx.nd.ones((2,))
        model(x, [x * 5, None])
        trial = open_trial(hook)
        found = {name: float(value(trial, name)[0]) for name in trial.tensor_names()}
        assert found == {
            **{f"echo0_input_{at}": number for at, number in enumerate((1.0, 5.0))},
            **{f"echo0_output_{at}": number for at, number in enumerate((2.0, 3.0, 4.0, 5.0))},
        }

    def test_add_block_tensors_when_asked_for_then_includes_inputs_and_outputs(self, make_hook, open_trial, trainer):
        """A collection takes the tensors of one block, and not those of blocks whose names begin alike."""
        hook = make_hook(include_collections=["pooling", "convolution"])
        training = trainer(hook)
        hook.get_collection("pooling").add_block_tensors(training.model[1], inputs=True, outputs=True)
        hook.get_collection("convolution").add_block_tensors(training.model[0])
        training.train(1)
        trial = open_trial(hook)
        assert trial.tensor_names(collection="pooling") == ["pool0_input_0", "pool0_output_0"]
        assert trial.tensor_names(collection="convolution") == ["conv0_output_0"]


class TestValues:
    def test_parameters_when_saved_then_are_those_after_the_update(self, make_hook, open_trial, trainer):
        """A step leaves the weights that its gradient has made, the last step too."""
        hook = make_hook(include_collections=["weights", "gradients"])
        training = trainer(hook)
        weights, gradients = [], []

        def note():
            weights.append(training.model[0].weight.data().asnumpy())
            gradients.append(training.model[0].weight.grad().asnumpy())

        training.train(3, after_step=note)
        trial = open_trial(hook)
        for step in range(3):
            np.testing.assert_array_equal(value(trial, "conv0_weight", step, TRAIN), weights[step])
            np.testing.assert_array_equal(value(trial, "gradient/conv0_weight", step, TRAIN), gradients[step])

    def test_parameters_when_mode_changes_then_belong_to_their_step(self, make_hook, open_trial, trainer):
        """The last training step before an evaluation keeps its parameters and gradients; the evaluation has none."""
        hook = make_hook(
            include_collections=["weights", "gradients"],
            save_config=smd.SaveConfig({TRAIN: smd.SaveConfigMode(2), EVAL: smd.SaveConfigMode(1)}),
        )
        training = trainer(hook).train(3).evaluate(1).train(2)
        trial = open_trial(hook)
        assert training.trainer is not None
        assert trial.tensor("conv0_weight").steps(TRAIN) == [0, 2, 4]
        assert trial.tensor("conv0_weight").steps(EVAL) == [0]
        assert trial.tensor("gradient/conv0_weight").steps(TRAIN) == [0, 2, 4]
        assert trial.tensor("gradient/conv0_weight").steps(EVAL) == []
        after_training, in_evaluation = value(trial, "conv0_weight", 2, TRAIN), value(trial, "conv0_weight", 0, EVAL)
        np.testing.assert_array_equal(after_training, in_evaluation)

    def test_gradients_when_zeroed_after_the_update_then_are_those_of_the_update(self, make_hook, open_trial):
        """What is added up over batches is saved as it grows, and as the update uses it, not as zeros."""
        hook = make_hook(include_collections=["gradients"])
        net = dense(use_bias=False)
        for parameter in net.collect_params().values():
            parameter.grad_req = "add"
        hook.register_block(net)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        for step in range(4):
            with autograd.record():
                loss = net(mx.nd.ones((1, 2)) * (step + 1))
            loss.backward()
            if step % 2:
                trainer.step(2)
                net.collect_params().zero_grad()
        trial = open_trial(hook)
        found = [float(value(trial, "gradient/dense0_weight", step)[0, 0]) for step in range(4)]
        assert found == [1.0, 3.0, 3.0, 7.0]

    def test_gradients_when_script_updates_by_itself_then_are_what_the_step_leaves(self, make_hook, open_trial):
        """No trainer is needed."""
        hook = make_hook(include_collections=["gradients", "weights"])
        net = dense(use_bias=False)
        hook.register_block(net)
        for step in range(2):
            with autograd.record():
                loss = net(mx.nd.ones((1, 2)) * (step + 1))
            loss.backward()
            net.weight.set_data(net.weight.data() - net.weight.grad())
        last = net.weight.data().asnumpy()
        hook.set_mode(EVAL)  # what is said of the next step is not true of this one
        trial = open_trial(hook)
        assert [float(value(trial, "gradient/dense0_weight", step)[0, 0]) for step in range(2)] == [1.0, 2.0]
        np.testing.assert_array_equal(value(trial, "dense0_weight", 1), last)

    def test_gradients_when_reduced_and_clipped_by_hand_then_are_the_clipped_ones(self, make_hook, open_trial):
        """Scripts that call `allreduce_grads` and `update` are captured at the update."""
        hook = make_hook(include_collections=["gradients"])
        net = dense(use_bias=False)
        hook.register_block(net)
        trainer = gluon.Trainer(net.collect_params(), "sgd", update_on_kvstore=False)
        with autograd.record():
            loss = net(mx.nd.ones((1, 4)) * 10)
        loss.backward()
        trainer.allreduce_grads()
        gluon.utils.clip_global_norm([net.weight.grad()], 1.0)
        trainer.update(1)
        found = value(open_trial(hook), "gradient/dense0_weight")
        np.testing.assert_allclose(found, np.full((1, 4), 0.5), rtol=1e-3)

    def test_gradients_when_another_trainer_updates_then_stay_with_their_own(self, make_hook, open_trial):
        """Of two models with a trainer each, each gradient is the one that its own trainer has used."""
        hook = make_hook(include_collections=["gradients"])
        inner, outer = dense(use_bias=False), dense(use_bias=False)
        both = nn.Sequential()
        both.add(inner, outer)
        hook.register_block(both)
        trainers = [gluon.Trainer(part.collect_params(), "sgd", {"learning_rate": 0.0}) for part in (inner, outer)]
        with autograd.record():
            hidden = both(mx.nd.ones((1, 2)))
        hidden.backward()
        used = inner.weight.grad().asnumpy()
        trainers[0].step(1)
        inner.weight.grad()[:] = 7  # as the pass for the other model would leave it
        trainers[1].step(1)
        np.testing.assert_array_equal(value(open_trial(hook), "gradient/dense0_weight"), used)

    def test_gradients_when_nothing_is_recorded_then_there_are_none(self, make_hook, open_trial, trainer):
        """A forward pass without a backward pass has no gradient, whatever the buffers hold."""
        hook = make_hook(include_collections=["gradients", "weights"])
        training = trainer(hook).train(1)
        training.forward()
        trial = open_trial(hook)
        assert trial.tensor("conv0_weight").steps(TRAIN) == [0, 1]
        assert trial.tensor("gradient/conv0_weight").steps(TRAIN) == [0]

    def test_gradients_when_parameter_is_frozen_then_only_the_others_are_there(self, make_hook, open_trial, trainer):
        """A frozen parameter has a value and no gradient, and so have running statistics."""
        hook = make_hook(include_regex=["dense|batchnorm"])

        def model():
            net = nn.HybridSequential()
            net.add(nn.Flatten(), nn.Dense(3), nn.BatchNorm(), nn.Dense(5))
            return net

        training = trainer(hook, model)
        training.model[1].collect_params().setattr("grad_req", "null")
        training.train(1)
        names = open_trial(hook).tensor_names()
        assert "dense0_weight" in names
        assert "batchnorm0_running_mean" in names
        assert [name for name in names if name.startswith("gradient")] == [
            "gradient/batchnorm0_beta",
            "gradient/batchnorm0_gamma",
            "gradient/dense1_bias",
            "gradient/dense1_weight",
        ]

    def test_parameters_when_never_initialised_then_the_others_are_saved(self, make_hook, open_trial):
        """A parameter that waits for a forward pass of its own is left out until it exists."""
        hook = make_hook(include_collections=["weights"])
        net = nn.Sequential()
        net.add(dense(2), Echo(lambda x: x))
        net[1].unused = nn.Dense(2)
        net[1].unused.initialize()
        hook.register_block(net)
        net(mx.nd.ones((1, 3)))
        net[1].unused(mx.nd.ones((1, 3)))
        net(mx.nd.ones((1, 3)))
        trial = open_trial(hook)
        assert trial.tensor("dense0_weight").steps() == [0, 1]
        name = f"{net[1].unused.name}_weight"
        assert trial.tensor(name).steps() == [0, 1]

    def test_parameters_when_added_between_steps_then_are_saved_from_then_on(self, make_hook, open_trial):
        """A network may grow."""
        hook = make_hook(include_collections=["weights"])
        net = nn.Sequential()
        net.add(dense(2))
        hook.register_block(net)
        net(mx.nd.ones((1, 3)))
        net.add(dense(2))
        net(mx.nd.ones((1, 3)))
        trial = open_trial(hook)
        assert trial.tensor("dense0_weight").steps() == [0, 1]
        assert trial.tensor("dense1_weight").steps()[-1] == 1

    def test_parameters_when_shape_is_unknown_then_nothing_breaks(self, make_hook, open_trial):
        """A block that is never called has no values."""
        hook = make_hook(include_collections=["weights"])
        net = Echo(lambda x: x)
        net.unused = nn.Dense(2)
        hook.register_block(net)
        net(mx.nd.ones((1, 3)))
        trial = open_trial(hook)
        assert trial.tensor_names() == []

    def test_outputs_when_changed_in_place_afterwards_then_are_as_they_were(self, make_hook, open_trial):
        """A copy is taken before MXNet may change the array."""
        hook = make_hook(include_regex=["dense0_output"])
        net = dense(2, use_bias=False, weight_initializer="ones")
        hook.register_block(net)
        output = net(mx.nd.ones((1, 3)))
        output[:] = -1
        np.testing.assert_array_equal(value(open_trial(hook), "dense0_output_0"), [[3, 3]])

    def test_reductions_when_asked_for_then_are_all_there(self, make_hook, open_trial, trainer):
        """Every reduction and norm is saved, spread included, and is that of the value."""
        config = smd.ReductionConfig(
            reductions=list(REDUCTIONS), abs_reductions=list(REDUCTIONS), norms=list(NORMS), abs_norms=list(NORMS)
        )
        hook = make_hook(include_collections=["weights"], reduction_config=config)
        training = trainer(hook).train(1)
        expected = training.model[3 + 1].weight.data().asnumpy()
        trial = open_trial(hook)
        tensor = trial.tensor("dense0_weight")
        for reduction, compute in {"std": np.std, "variance": np.var, "mean": np.mean, "max": np.max}.items():
            assert tensor.reduction_value(0, reduction, TRAIN) == pytest.approx(float(compute(expected)), rel=1e-5)
        norm = tensor.reduction_value(0, "l2", TRAIN, abs=True)
        assert norm == pytest.approx(float(np.linalg.norm(expected)), rel=1e-5)
        with pytest.raises(TensorUnavailable):
            trial.tensor("conv0_output_0")

    def test_gradients_when_sparse_then_are_saved_in_full(self, make_hook, open_trial):
        """An embedding's rows that were not looked up have a gradient of zero."""
        hook = make_hook(include_collections=["gradients"])
        net = nn.Embedding(4, 2, sparse_grad=True)
        net.initialize()
        hook.register_block(net)
        with autograd.record():
            loss = net(mx.nd.array([1, 3])).sum()
        loss.backward()
        found = value(open_trial(hook), "gradient/embedding0_weight")
        np.testing.assert_array_equal(found, [[0, 0], [1, 1], [0, 0], [1, 1]])

    def test_parameters_when_sparse_then_are_left_out_with_a_word(self, make_hook, open_trial, caplog):
        """What only a trainer holds as a whole is not read behind its back."""
        hook = make_hook(include_regex=["rows|plain"])
        net = Echo(lambda x: x)
        net.params.get("rows", shape=(3, 2), stype="row_sparse")
        net.params.get("plain", shape=(3, 2))
        net.initialize()
        hook.register_block(net)
        for _ in range(2):
            net(mx.nd.ones((1,)))
        assert open_trial(hook).tensor_names() == ["echo0_plain"]
        assert [record.message for record in caplog.records][:1] == [
            "parameter 'echo0_rows' is not saved, as its storage is row_sparse"
        ]

    @pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "int8", "uint8", "bool"])
    def test_outputs_when_dtype_is_unusual_then_are_saved_exactly(self, make_hook, open_trial, dtype):
        """The dtype is MXNet's."""
        hook = make_hook(include_regex=["echo0_output"])
        model = Echo(lambda x: x.astype(dtype))
        hook.register_block(model)
        model(mx.nd.array([0, 1, 1]))
        found = value(open_trial(hook), "echo0_output_0")
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found, np.array([0, 1, 1], dtype))

    def test_outputs_when_bfloat16_then_are_float32(self, make_hook, open_trial):
        """A type that numpy lacks becomes one that holds all its values."""
        hook = make_hook(include_regex=["echo0_output"])
        model = Echo(lambda x: x.astype(np.dtype([("bfloat16", np.uint16)])))
        hook.register_block(model)
        model(mx.nd.array([0.5, -3]))
        found = value(open_trial(hook), "echo0_output_0")
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, [0.5, -3])

    def test_arrays_when_of_the_numpy_kind_then_are_saved(self, make_hook, open_trial):
        """MXNet's own numpy arrays are arrays too."""
        hook = make_hook(include_regex=["echo0"])
        model = Echo(lambda x: x + 1)
        hook.register_block(model)
        model(mx.np.ones((2, 2)))
        np.testing.assert_array_equal(value(open_trial(hook), "echo0_output_0"), np.full((2, 2), 2))

    def test_scalars_and_tensors_when_given_by_the_script_then_are_saved(self, make_hook, open_trial, trainer):
        """Arrays of MXNet are welcome as numbers and as tensors; what is no number is refused."""
        hook = make_hook(include_collections=["mine"])
        hook.get_collection("mine").include("nothing yet")
        hook.save_tensor("noise", mx.nd.arange(3), "mine")
        trainer(hook).train(2, after_step=lambda: hook.save_scalar("lr", mx.nd.array([0.5]), sm_metric=True))
        with pytest.raises(SMDebugTypeError, match="lr"):
            hook.save_scalar("lr", mx.nd.ones((2,)))
        trial = open_trial(hook)
        assert trial.tensor("scalar/lr").values(TRAIN) == {0: 0.5, 1: 0.5}
        np.testing.assert_array_equal(value(trial, "noise", 0, TRAIN), [0, 1, 2])


class TestSteps:
    def test_steps_when_modes_are_set_then_each_mode_counts(self, make_hook, open_trial, trainer):
        """Each forward pass of the network is a step of the mode that was set."""
        hook = make_hook()
        trainer(hook).train(2).evaluate(1).train(1)
        trial = open_trial(hook)
        assert (trial.steps(TRAIN), trial.steps(EVAL), trial.steps()) == ([0, 1, 2], [0], [0, 1, 2, 3])

    def test_steps_when_mode_is_never_set_then_are_global(self, make_hook, open_trial):
        """Without a word from the script there are no modes."""
        hook = make_hook(include_regex=["dense"])
        net = dense()
        hook.register_block(net)
        net(mx.nd.ones((1, 2)))
        trial = open_trial(hook)
        assert (trial.mode(0), list(trial.modes())) == (GLOBAL, [])

    def test_hook_when_mode_follows_autograd_is_no_bool_then_is_refused(self, make_hook):
        """A text would count as true."""
        with pytest.raises(SMDebugTypeError, match=r"mode_follows_autograd must be True or False \(got 'false'\)"):
            make_hook(mode_follows_autograd="false")

    def test_steps_when_mode_follows_autograd_then_recording_trains_and_all_else_evaluates(self, make_hook, open_trial):
        """`train_mode` and `predict_mode` count, whatever is recorded."""
        hook = make_hook(include_regex=["dense"], mode_follows_autograd=True)
        net = dense()
        hook.register_block(net)
        x = mx.nd.ones((1, 2))
        with autograd.record():
            net(x)
        net(x)
        with autograd.train_mode():
            net(x)
        with autograd.record(), autograd.predict_mode():
            net(x)
        trial = open_trial(hook)
        assert [trial.mode(step) for step in trial.steps()] == [TRAIN, EVAL, TRAIN, EVAL]

    @pytest.mark.parametrize("on_kvstore", [True, False])
    def test_steps_when_batch_is_split_over_contexts_then_make_one(self, make_hook, open_trial, trainer, on_kvstore):
        """The parts of a batch are one step; the gradient is that of the whole batch, wherever it is added up."""

        def model():
            net = nn.HybridSequential()
            net.add(nn.Flatten(), nn.Dense(5, in_units=64))
            return net

        split = make_hook(include_collections=["gradients", "weights"], include_regex=["dense0_output"])
        trainer(split, model, contexts=[mx.cpu(0), mx.cpu(1)], update_on_kvstore=on_kvstore).train(3)
        whole = make_hook("whole", include_collections=["gradients", "weights"])
        trainer(whole, model).train(3)
        found, expected = open_trial(split), open_trial(whole)
        assert found.steps(TRAIN) == [0, 1, 2]
        assert found.tensor_names(regex="dense0_output") == ["dense0_output_0", "dense0_output_1"]
        assert len(found.tensor_names(collection="losses")) == 2
        for name in ("gradient/dense0_weight", "gradient/dense0_bias", "dense0_weight"):
            for step in range(3):
                np.testing.assert_allclose(
                    value(found, name, step, TRAIN), value(expected, name, step, TRAIN), rtol=1e-4, atol=1e-6
                )

    def test_steps_when_two_models_run_then_both_count(self, make_hook, open_trial):
        """Each forward pass of a registered block is a step."""
        hook = make_hook(include_collections=["weights"])
        left, right = dense(), dense()
        for net in (left, right, left):
            if net is not left or hook.step == -1:
                hook.register_block(net)
            net(mx.nd.ones((1, 2)))
        trial = open_trial(hook)
        assert trial.tensor("dense0_weight").steps() == [0, 2]
        assert trial.tensor("dense1_weight").steps() == [1]

    def test_steps_when_block_describes_itself_then_none_begins(self, make_hook, open_trial, caplog):
        """Asking a block for its graph is no forward pass."""
        hook = make_hook(include_regex=["dense"])
        net = dense(in_units=2)
        hook.register_block(net)
        net(mx.sym.var("data"))
        assert "hybridised" in caplog.text
        net(mx.nd.ones((1, 2)))
        net(mx.sym.var("data"))
        assert open_trial(hook).steps() == [0]

    def test_model_when_step_is_not_saved_then_nothing_is_attached(self, make_hook, trainer):
        """Blocks and trainers are touched in saved steps only."""
        plain = gluon.Trainer.step
        hook = make_hook(save_all=True, save_config=smd.SaveConfig(save_steps=[1], start_step=1))
        training = trainer(hook)
        found = []

        def note():
            found.append((len(training.model[0]._forward_hooks), gluon.Trainer.step is plain))

        training.train(3, after_step=note)
        assert found == [(0, True), (1, False), (0, True)]


class TestBadInput:
    @pytest.mark.parametrize("thing", [None, "net", gluon.Parameter("w")], ids=["none", "text", "parameter"])
    def test_register_when_it_is_no_block_then_refuses(self, make_hook, thing):
        """The message names what is wanted."""
        hook = make_hook()
        for register in (hook.register_block, hook.register_hook, hook.register_loss):
            with pytest.raises(SMDebugTypeError, match=r"mxnet\.gluon\.Block"):
                register(thing)
        with pytest.raises(SMDebugTypeError, match=r"mxnet\.gluon\.Block"):
            hook.get_collection("default").add_block_tensors(thing)

    def test_register_when_repeated_then_warns_and_counts_once(self, make_hook, open_trial, caplog):
        """A block is captured once."""
        hook = make_hook(include_regex=["dense"])
        net = dense()
        hook.register_block(net)
        hook.register_hook(net)
        net(mx.nd.ones((1, 2)))
        assert "'dense0' is registered already" in caplog.text
        assert open_trial(hook).steps() == [0]

    def test_register_when_part_is_registered_then_names_both(self, make_hook, net):
        """A step inside a step makes no sense."""
        hook = make_hook()
        model = net()
        hook.register_block(model)
        with pytest.raises(SMDebugValueError, match=r"'conv0' is a part of 'hybridsequential0'"):
            hook.register_block(model[0])

    def test_register_when_whole_follows_its_part_then_names_both(self, make_hook, net):
        """The same the other way round."""
        hook = make_hook()
        model = net()
        hook.register_block(model[0])
        with pytest.raises(SMDebugValueError, match=r"'conv0' is a part of 'hybridsequential0'"):
            hook.register_block(model)

    def test_register_when_blocks_share_a_part_then_both_are_captured(self, make_hook, open_trial):
        """An encoder may be trained in two networks."""
        hook = make_hook(include_collections=["weights"])
        shared = dense(2)
        for _ in range(2):
            net = nn.Sequential()
            net.add(shared, dense(1))
            hook.register_block(net)
            net(mx.nd.ones((1, 2)))
        trial = open_trial(hook)
        assert trial.tensor("dense0_weight").steps() == [0, 1]
        assert trial.tensor("dense1_weight").steps() == [0]

    def test_register_loss_when_it_is_not_called_so_then_is_among_losses(self, make_hook, open_trial):
        """A block that is registered as a loss is one, whatever its name."""
        hook = make_hook(include_regex=["echo"])
        criterion = Echo(lambda x: x.mean())
        net = dense()
        hook.register_block(net)
        hook.register_loss(criterion)
        criterion(net(mx.nd.ones((1, 2))))
        trial = open_trial(hook)
        assert trial.tensor_names() == ["echo0_input_0", "echo0_output_0"]
        assert trial.tensor_names(collection="losses") == ["echo0_output_0"]

    def test_loss_when_registered_in_a_step_then_is_captured_in_it(self, make_hook, open_trial):
        """Scripts that make their loss late lose nothing."""
        hook = make_hook()
        net = dense()
        hook.register_block(net)
        output = net(mx.nd.ones((1, 2)))
        loss = gluon.loss.L2Loss()
        hook.register_block(loss)
        loss(output, mx.nd.ones((1, 1)))
        assert open_trial(hook).tensor_names() == ["l2loss0_output_0"]

    def test_hook_when_mxnet_is_of_another_version_then_refuses(self, make_hook, monkeypatch):
        """MXNet 2 names blocks otherwise; a clear word comes before training."""
        monkeypatch.setattr(mx, "__version__", "2.0.0b1")
        with pytest.raises(SMDebugRuntimeError, match=r"version 1.*2\.0\.0b1"):
            make_hook()


def test_hook_when_it_decorates_a_function_then_is_closed_at_its_end(tmp_path):
    """A training function needs no block of its own."""

    @smd.Hook(tmp_path / "out", save_config=smd.SaveConfig(save_interval=1), include_collections=["weights"])
    def train():
        net = dense()
        smd.get_hook().register_block(net)
        net(mx.nd.ones((1, 2)))

    train()
    trial = smd.create_trial(str(tmp_path / "out"))
    assert trial.loaded_all_steps
    assert trial.tensor_names() == ["dense0_weight"]


def test_close_when_trainer_was_replaced_since_then_leaves_that(make_hook, trainer):
    """What somebody else put over the trainer's function stays, and ours only passes on."""
    plain = gluon.Trainer.step
    hook = make_hook(save_all=True)
    training = trainer(hook).train(1)
    ours = gluon.Trainer.step

    def theirs(*args):
        return ours(*args)

    try:
        gluon.Trainer.step = theirs
        hook.close()
        assert gluon.Trainer.step is theirs
        training.hook = None
        training.train(1)
    finally:
        gluon.Trainer.step = plain


def test_model_when_used_elsewhere_then_can_be_copied_and_stored(make_hook, open_trial, trainer):
    """A copy of a captured block, and one that was pickled, run without the hook."""
    hook = make_hook(save_all=True)
    training = trainer(hook).train(1)
    for other in (copy.deepcopy(training.model), pickle.loads(pickle.dumps(training.model))):
        other(mx.nd.ones((1, 1, 8, 8)))
    assert open_trial(hook).steps() == [0]


def test_worker_when_horovod_is_loaded_then_it_is_asked(make_hook, monkeypatch, open_trial):
    """The rank becomes the worker's name."""
    peers = types.ModuleType("horovod.mxnet")
    peers.is_initialized, peers.rank, peers.size = (lambda: True), (lambda: 1), (lambda: 1)
    monkeypatch.setitem(sys.modules, "horovod.mxnet", peers)
    hook = make_hook(include_workers="all", include_collections=["weights"])
    net = dense()
    hook.register_block(net)
    net(mx.nd.ones((1, 2)))
    assert open_trial(hook).workers() == ["worker_1"]


def test_face_when_imported_then_has_the_names_scripts_use():
    """Renaming the import is all a script needs."""
    names = {"Hook", "Collection", "get_hook", "set_hook", "del_hook", "modes", "SaveConfig", "SaveConfigMode"}
    assert names | {"ReductionConfig", "CollectionKeys", "create_trial"} <= set(smd.__all__)
    assert all(getattr(smd, name) is not None for name in smd.__all__)
    with pytest.raises(AttributeError, match="KerasHook"):
        smd.KerasHook  # noqa: B018 - the look-up is what is tested
