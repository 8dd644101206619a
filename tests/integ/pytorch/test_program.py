"""The record of PyTorch models and losses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

import sagemaker_debug_ext.pytorch as smd  # noqa: E402
from sagemaker_debug_ext.hooks.program.autograd import (  # noqa: E402
    NearOperations,
    takes_axes_for_others,
)
from sagemaker_debug_ext.hooks.program.own_losses import pooled_shape, spread_shape  # noqa: E402
from sagemaker_debug_ext.hooks.program.pytorch import TorchProgram  # noqa: E402
from sagemaker_debug_ext.trials import create_trial  # noqa: E402


def test_record_when_model_and_loss_are_registered_then_has_them(tmp_path):
    """Types, sizes, modes and the arguments of the loss are there; how modules follow each other is unknown."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout(0.5), torch.nn.Linear(3, 2))
    loss = torch.nn.CrossEntropyLoss(torch.tensor([1.0, 0.5]), label_smoothing=0.25)
    model[1].eval()
    with smd.Hook(str(tmp_path / "out"), save_config=smd.SaveConfig(save_interval=1)) as hook:
        hook.register_module(model)
        hook.register_loss(loss)
        loss(model(torch.zeros(5, 4)), torch.zeros(5, dtype=torch.long)).backward()
    program = create_trial(str(tmp_path / "out")).program
    assert (program.framework, program.model) == ("PyTorch", "Sequential")
    assert [(layer.name, layer.type, layer.units, layer.is_training) for layer in program.layers] == [
        ("Sequential", "Sequential", None, True),
        ("0", "Linear", 3, True),
        ("1", "Dropout", None, False),
        ("2", "Linear", 2, True),
    ]
    (found,) = program.losses
    assert found.type == "CrossEntropyLoss"
    assert [found.arguments[name] for name in ("label_smoothing", "reduction", "weight")] == [0.25, "mean", [1.0, 0.5]]
    assert [(layer.type, layer.activation, layer.units) for layer in found.tail] == [("Addmm", "linear", 2)]
    assert (found.target_dtype, program.input_dtypes, program.unknown) == ("int64", ("float32",), ())


def test_record_when_model_has_a_thousand_modules_then_holds_all():
    """Every module is there with its size, those of convolutions included, and none for modules without one."""
    model = torch.nn.Sequential(*(torch.nn.Linear(1, 1) for _ in range(998)), torch.nn.Conv1d(1, 7, 1), torch.nn.ReLU())
    program = TorchProgram()
    program.note_modules([("Sequential", model.named_modules())], [])
    layers = program.record().layers
    assert len(layers) == 1001
    assert [layer.units for layer in layers[-3:]] == [1, 7, None]


def test_record_when_layers_take_an_axis_for_the_samples_then_has_it():
    """Recurrent and attention layers name their axis of samples; other layers have none."""
    nn = torch.nn
    modules = nn.LSTM(2, 2), nn.GRU(2, 2, batch_first=True), nn.MultiheadAttention(2, 1), nn.Linear(1, 1)
    program = TorchProgram()
    program.note_modules([("Net", [(type(module).__name__, module) for module in modules])], [])
    assert [layer.batch_axis for layer in program.record().layers] == [1, 0, 1, None]


def test_record_when_recurrent_layers_have_an_activation_then_has_it():
    """Those that may choose it; the gates of others have theirs."""
    nn = torch.nn
    modules = nn.RNN(2, 2, nonlinearity="relu"), nn.RNNCell(2, 2), nn.LSTM(2, 2)
    program = TorchProgram()
    program.note_modules([("Net", [(type(module).__name__, module) for module in modules])], [])
    assert [layer.activation for layer in program.record().layers] == ["relu", "tanh", None]


def test_record_when_batches_are_normalised_then_has_how_far_averages_move():
    """Those that are frozen, or the mean of all batches, do not follow at a rate."""
    nn = torch.nn
    modules = nn.BatchNorm1d(2, momentum=0.25), nn.BatchNorm2d(2).eval(), nn.BatchNorm1d(2, momentum=None), nn.ReLU()
    program = TorchProgram()
    program.note_modules([("Net", [(type(module).__name__, module) for module in modules])], [])
    assert [layer.moving_share for layer in program.record().layers] == [0.25, None, None, None]


def test_training_when_program_is_recorded_then_weights_are_equal_to_the_bit(tmp_path):
    """The record needs no random number and no other operation of the training."""

    def train(out_dir=None):
        torch.manual_seed(3)
        layers = torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2)
        model, loss = torch.nn.Sequential(*layers), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.Adam(model.parameters(), 0.1)
        hook = None if out_dir is None else smd.Hook(out_dir, include_collections=["losses"])
        if hook is not None:
            hook.register_module(model)
            hook.register_loss(loss)
        for _ in range(5):
            optimizer.zero_grad()
            loss(model(torch.randn(16, 4)), torch.randint(0, 2, (16,))).backward()
            optimizer.step()
        if hook is not None:
            hook.close()
        return [*model.state_dict().values(), torch.rand(3)]

    bare, recorded = train(), train(str(tmp_path / "out"))
    assert all(torch.equal(one, other) for one, other in zip(bare, recorded, strict=True))
    program = create_trial(str(tmp_path / "out")).program
    assert [found.type for found in (*program.losses, *program.optimizers)] == ["CrossEntropyLoss", "Adam"]


def test_record_when_a_model_gets_what_another_makes_then_names_it(tmp_path):
    """Its inputs are no data, whatever their scale."""
    encoder, decoder = torch.nn.Linear(4, 3), torch.nn.Linear(3, 4)
    with smd.Hook(str(tmp_path / "out"), save_config=smd.SaveConfig(save_interval=1)) as hook:
        hook.register_module(encoder)
        hook.register_module(decoder)
        decoder(encoder(torch.zeros(5, 4))).sum().backward()
    program = create_trial(str(tmp_path / "out")).program
    assert (program.fed_models, program.input_dtypes) == (("Linear_1",), ("float32",))


def test_optimizer_when_one_has_the_place_of_a_dead_one_then_is_recorded(monkeypatch):
    """The id of a dead object may be that of a new one, and equal optimizers are recorded once."""
    program = TorchProgram()
    parameters = [torch.nn.Parameter(torch.zeros(1))]
    monkeypatch.setattr("sagemaker_debug_ext.hooks.program.pytorch.id", lambda _: 1, raising=False)
    first = torch.optim.SGD(parameters, 0.1)
    assert [program.note_optimizer(first), program.note_optimizer(first)] == [True, False]
    del first
    others = [torch.optim.Adam(parameters, 0.1), torch.optim.Adam(parameters, 0.1)]
    assert [program.note_optimizer(other) for other in others] == [True, False]
    assert [optimizer.type for optimizer in program.record().optimizers] == ["SGD", "Adam"]


def test_optimizer_when_it_gets_more_to_train_then_is_recorded_again():
    """Frozen parameters are none that it has to train, and models may come to be known later."""
    program = TorchProgram()
    body, head = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    body.weight.requires_grad_(False)
    optimizer = torch.optim.SGD(body.parameters(), 0.1)
    assert program.note_optimizer(optimizer, 1, body.named_parameters)
    assert not program.note_optimizer(optimizer, 1, body.named_parameters)
    optimizer.add_param_group({"params": head.parameters()})
    assert program.note_optimizer(optimizer, 2, torch.nn.Sequential(body, head).named_parameters)
    assert [record.parameters for record in program.record().optimizers] == [
        ("bias",),
        ("0.bias", "1.weight", "1.bias"),
    ]
    assert program.record().trained_parameters == {"bias", "0.bias", "1.weight", "1.bias"}


ANSWERS, TARGETS = torch.nn.Linear(3, 1)(torch.ones(5, 3)), torch.arange(5.0)


@pytest.mark.parametrize(
    ("loss", "is_spread"),
    [
        pytest.param(lambda a, t: ((a - t) ** 2).mean(), True, id="squares"),
        pytest.param(lambda a, t: torch.sqrt((a - t).abs().sum() / 5) + 2, True, id="of a sum"),
        pytest.param(lambda a, t: 0.1 * a.norm() - (a.sigmoid().log() * t).mean(), True, id="one of two"),
        pytest.param(
            lambda a, t: -((a.view(-1) - ((a.view(-1).exp() * (t >= t[:, None])).sum(1)).log()) * t).mean(),
            False,
            id="risk sets",
        ),
        pytest.param(lambda a, t: (a.view(-1, 1) - a.view(1, -1)).sigmoid().log().mean(), False, id="ranks"),
        pytest.param(lambda a, t: ((a.squeeze(1) - t[:, None]) ** 2).mean(), True, id="the other way round"),
        pytest.param(lambda a, t: ((a - t[:, None]) ** 2).mean(), False, id="sound"),
        pytest.param(lambda a, t: ((a.squeeze(1) - t) ** 2).mean(), False, id="sound without the axis"),
        pytest.param(lambda a, t: (a - a.transpose(0, 1)).abs().mean(), False, id="each with each"),
        pytest.param(lambda a, t: (a.unsqueeze(0) - a.unsqueeze(1)).abs().mean(), False, id="pairs"),
    ],
)
def test_spread_when_targets_are_broadcast_then_has_the_shape(loss, is_spread):
    """Whatever is computed of the differences, and not where all pairs are meant."""
    assert spread_shape(loss(ANSWERS, TARGETS), tuple(ANSWERS.shape)) == ((5, 5) if is_spread else ())


@pytest.mark.parametrize("has_backward", [True, False])
def test_optimizer_when_no_backward_pass_came_then_is_known_to_have_no_gradient(has_backward):
    """Its updates change nothing."""
    layer = torch.nn.Linear(3, 2)
    program = TorchProgram()
    if has_backward:
        layer(torch.ones(5, 3)).sum().backward()
    assert program.note_optimizer(torch.optim.Adam(layer.parameters()))
    assert [record.has_gradients for record in program.record().optimizers] == [has_backward]


@pytest.mark.parametrize(("targets", "is_spread"), [(TARGETS[:, None], True), (TARGETS, False)])
@pytest.mark.parametrize("is_clipped", [True, False])
def test_spread_when_the_answer_is_a_distribution_then_has_the_shape(targets, is_spread, is_clipped):
    """A ratio of probabilities has one axis, and advantages may have two."""
    policy = torch.distributions.Categorical(logits=torch.nn.Linear(3, 4)(torch.ones(5, 3)))
    ratio = torch.exp(policy.log_prob(torch.arange(5) % 4) - 1)
    gain = torch.min(ratio * targets, ratio.clamp(0.8, 1.2) * targets) if is_clipped else ratio * targets
    assert spread_shape(-gain.mean(), (5,)) == ((5, 5) if is_spread else ())


def test_spread_when_there_are_several_answers_for_each_sample_then_is_none():
    """Matrices of as many rows as columns are usual there."""
    answers = torch.nn.Linear(3, 5)(torch.ones(5, 3))
    assert spread_shape(((answers - TARGETS) ** 2).mean(), (5, 5)) == ()


SCORES, CLASSES = torch.nn.Linear(3, 4)(torch.rand(5, 3)), torch.arange(5) % 4
TAKEN = torch.nn.functional.one_hot(CLASSES, 4)
LOG_PROBABILITIES = torch.distributions.Categorical(logits=SCORES).log_prob(CLASSES)
SUM = (SCORES * TAKEN).sum()


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(((TARGETS - SUM) ** 2).mean(), id="targets less the sum"),
        pytest.param((SUM - TARGETS).abs().sum(), id="the sum less targets"),
        pytest.param(torch.nn.functional.mse_loss(SUM.expand(5), TARGETS), id="spread by a loss"),
    ],
)
def test_pooled_when_answers_are_picked_for_all_samples_together_then_has_the_shape(loss):
    """A sum over the actions of each sample was meant."""
    assert pooled_shape(loss) == (5,)


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(((TARGETS - (SCORES * TAKEN).sum(1)) ** 2).mean(), id="a sum for each sample"),
        pytest.param(torch.nn.functional.mse_loss(SUM.expand(5), ANSWERS.squeeze(1)), id="other answers"),
        pytest.param(-(LOG_PROBABILITIES.sum() * TARGETS).sum(), id="rewards of an episode"),
        pytest.param((TARGETS - (ANSWERS.squeeze(1) * TARGETS).sum() * TARGETS).square().mean(), id="projection"),
        pytest.param((TARGETS - (ANSWERS.squeeze(1) * TARGETS).sum()).square().mean(), id="distance from a mean"),
        pytest.param((TARGETS[:, None] - ANSWERS.mean()).sigmoid().log().mean(), id="relativistic"),
        pytest.param((TARGETS - (torch.ones(5, 4, requires_grad=True) * TAKEN).sum()).sum(), id="weights of 5 units"),
        pytest.param((TARGETS.sum() - SUM) ** 2, id="sums"),
    ],
)
def test_pooled_when_a_sum_over_samples_may_be_meant_then_is_none(loss):
    """Coefficients and means are such sums."""
    assert pooled_shape(loss) == ()


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_softmaxes_when_functions_make_them_then_are_known_by_axis_and_shape(axis):
    """Modules, functions and methods leave the same operation; the softmax of a logarithm is none."""
    scores = torch.nn.Linear(4, 3)(torch.ones(5, 2, 4))
    weights = torch.nn.functional.softmax(torch.nn.Softmax(dim=-1)(scores) @ torch.ones(3, 6), axis)
    found = NearOperations.before(weights.sum(0).log_softmax(-1)).softmaxes()
    assert [(record.axis, record.shape) for record in found] == [(axis % 3, (5, 2, 6)), (2, (5, 2, 3))]


def test_softmax_when_a_checkpoint_computes_it_anew_then_is_not_computed_for_the_record():
    """A checkpoint keeps nothing of what it has computed, but its operations are in the graph."""
    calls = []

    def layer(value):
        calls.append(1)
        return torch.softmax(value, 0)

    scores = torch.nn.Linear(4, 3)(torch.ones(5, 4))
    weights = torch.utils.checkpoint.checkpoint(layer, scores, use_reentrant=False)
    assert [record.axis for record in NearOperations.before(weights).softmaxes()] == [0]
    assert calls == [1]


def shift_rows(scores, pad):
    """Shift rows against each other, as attentions do whose scores depend on distances; take one of them."""
    padded = pad(scores)
    return padded.view(*scores.shape[:-2], scores.shape[-1] + 1, scores.shape[-2]).select(-2, 1)


def fill_in(scores):
    """Pad with zeros on the left by an assignment."""
    padded = scores.new_zeros(5, 4, 7)
    padded[..., 1:] = scores
    return padded


def shift_rows_back(scores):
    """Undo that shift: what was reshaped before is reshaped back after its first row was cut off."""
    return scores.reshape(5, 6, 4)[:, 1:].reshape(5, 4, 5)


@pytest.mark.parametrize(
    ("reshape", "found"),
    [
        (lambda value: value.view(5, 6, 4), [((5, 4, 6), (5, 6, 4))]),
        (lambda value: value.view(4, 5, 6), [((5, 4, 6), (4, 5, 6))]),
        (lambda value: value.flatten().view(5, 6, 4), [((5, 4, 6), (5, 6, 4))]),
        (lambda value: value.relu().reshape(4, 30), [((5, 4, 6), (4, 30))]),
        (lambda value: value.transpose(0, 1).reshape(5, 24), [((4, 5, 6), (5, 24))]),
        (lambda value: value.transpose(1, 2).reshape(5, 24), []),
        (lambda value: value.view(5, 2, 2, 3, 2).view(10, 12), []),
        (lambda value: value.view(5, 2, 2, 3, 2).view(5, 4, 6).view(5, 4, 3, 2), []),
        (lambda value: value.view(5, 24).view(5, 8, 3), []),
        (lambda value: value.view(8, 15), []),
        (lambda value: value.permute(2, 0, 1)[..., None], []),
        (lambda value: shift_rows(value, lambda scores: torch.nn.functional.pad(scores, (1, 0))), []),
        (lambda value: shift_rows(value, lambda scores: torch.nn.functional.pad(scores, (1, 0)) * 2), []),
        (lambda value: shift_rows(value, lambda scores: torch.ones(7) * torch.nn.functional.pad(scores, (1, 0))), []),
        (lambda value: shift_rows(value, lambda scores: torch.cat([scores.new_zeros(5, 4, 1), scores], -1)), []),
        (lambda value: shift_rows(value, fill_in), []),
        (lambda value: value.view(5, 6, 4).split(3, 1)[1], []),
        (lambda value: value.view(5, 6, 4)[:, -1], [((5, 4, 6), (5, 6, 4))]),
        (shift_rows_back, []),
    ],
    ids=[
        "view", "view of a product", "flat between", "later", "after a transpose", "transpose", "split and join",
        "windows", "other features", "groups", "permute", "shifted rows", "scaled", "masked", "joined zeros",
        "assigned", "split", "one of them", "cut off",
    ],
)  # fmt: skip
def test_reshapes_when_they_take_axes_for_others_then_are_known_by_both_shapes(reshape, found):
    """Numbers are regrouped and shifted on purpose, too."""
    states = torch.nn.Linear(3, 6)(torch.ones(5, 4, 3))
    records = NearOperations.before(reshape(states).sum(-1).tanh()).mixing_reshapes()
    assert [(record.before, record.after) for record in records] == found


def test_reshapes_when_they_are_of_parameters_then_are_none():
    """A layer may hold its weights in another shape."""
    weight = torch.nn.Parameter(torch.ones(4, 6, 5))
    for value in (weight, weight.exp(), 2 * weight.sigmoid()):
        assert NearOperations.before(value.view(4, 5, 6).sum()).mixing_reshapes() == ()


def test_reshapes_when_there_are_no_samples_then_are_none():
    """A batch may be empty."""
    assert not takes_axes_for_others((0, 5, 6), (0, 6, 5))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_loss_when_answers_are_nested_then_is_known_without_shapes(layout):
    """The lengths of nested tensors are no numbers."""
    states = torch.nested.nested_tensor([torch.ones(3, 4), torch.ones(5, 4)], layout=layout)
    answers = torch.nn.Linear(4, 6)(states)
    program = TorchProgram()
    assert program.note_loss("MSELoss", "MSELoss", {}, [answers])
    assert [(loss.reshapes, bool(loss.tail)) for loss in program.record().losses] == [((), True)]


@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    cuts=st.lists(st.booleans(), min_size=6, max_size=6),
    others=st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_reshapes_when_they_split_and_join_axes_then_take_none_for_others(lengths, cuts, others):
    """Both shapes join neighbours of the same axes."""

    def joined(ends):
        shape = [lengths[0]]
        for length, ends_here in zip(lengths[1:], ends, strict=False):
            if ends_here:
                shape.append(length)
            else:
                shape[-1] *= length
        return shape

    assert not takes_axes_for_others(joined(cuts), joined(others))


@given(lengths=st.lists(st.sampled_from([2, 3, 5, 7, 11, 13]), min_size=2, max_size=5, unique=True), data=st.data())
def test_reshapes_when_axes_of_unlike_lengths_are_exchanged_then_take_them_for_others(lengths, data):
    """Lengths without a common divisor make nothing else of each other."""
    order = data.draw(st.permutations(lengths))
    assert takes_axes_for_others(lengths, order) is (list(order) != lengths)


def test_reshape_when_a_loss_of_the_script_follows_then_is_in_the_record():
    """Losses that are no modules are seen where their backward pass starts."""
    states = torch.nn.Linear(3, 6)(torch.ones(5, 4, 3))
    program = TorchProgram()
    assert program.note_own_loss((states.view(5, 6, 4) ** 2).mean(), (5, 4, 6))
    assert [loss.reshapes[0].after for loss in program.record().losses] == [(5, 6, 4)]
