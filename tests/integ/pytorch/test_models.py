"""Models people train: the hook captures them, and trains them no differently."""

from __future__ import annotations

import copy
import functools
import io
import pickle

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugTypeError

F = nn.functional


class Tagger(nn.Module):
    """A recurrent net with an embedding tied to its output."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        hidden, _ = self.lstm(self.embedding(x))
        return {"logits": self.head(hidden), "hidden": hidden}


class Block(nn.Module):
    """Layers whose activations are computed again in the backward pass, if wanted."""

    def __init__(self, reentrant=None):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Dropout(0.5))
        self.reentrant = reentrant

    def forward(self, x):
        return self.layers(x) if self.reentrant is None else checkpoint(self.layers, x, use_reentrant=self.reentrant)


def train_tagger(hook, steps=4):
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    if hook:
        hook.register_module(model)
    for _ in range(steps):
        tokens = torch.randint(0, 11, (3, 5))
        loss = F.cross_entropy(model(tokens)["logits"].transpose(1, 2), tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [model]


def train_gan(hook, steps=4):
    generator = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))
    critic = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(2, 4)), nn.LeakyReLU(), nn.Linear(4, 1))
    optimizers = [torch.optim.Adam(model.parameters(), lr=0.01) for model in (generator, critic)]
    if hook:
        hook.register_module(generator)
        hook.register_module(critic)
    for _ in range(steps):
        real, fake = torch.randn(8, 2) + 3, generator(torch.randn(8, 2))
        mixed = (real + fake.detach()).requires_grad_()
        (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
        optimizers[1].zero_grad()
        (critic(fake.detach()).mean() - critic(real).mean() + (slope.norm(dim=1) - 1).square().mean()).backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        (-critic(fake).mean()).backward()
        optimizers[0].step()
    return [generator, critic]


def train_accumulating(hook, steps=3):
    model = Block()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if hook:
        hook.register_module(model)
    for _ in range(steps):
        for _ in range(4):
            (model(torch.randn(2, 4)).square().sum() / 4).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        optimizer.zero_grad()
    return [model]


def train_checkpointed(hook, reentrant, steps=3):
    model = nn.Sequential(nn.Linear(4, 4), Block(reentrant), Block(reentrant))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if hook:
        hook.register_module(model)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(2, 4)).square().sum().backward()
        optimizer.step()
    return [model]


def train_mixed_precision(hook, steps=4):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cpu")
    if hook:
        hook.register_module(model)
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(torch.randn(2, 4)).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return [model]


def train_sparse_and_complex(hook, steps=3):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(7, 3, sparse=True)
            self.phases = nn.Parameter(torch.randn(3, dtype=torch.complex64))
            self.lazy = nn.LazyLinear(1)
            self.frozen = nn.Parameter(torch.ones(3), requires_grad=False)

        def forward(self, x):
            return self.lazy((self.embedding(x) * self.frozen * self.phases).abs())

    model = Net()
    if hook:
        hook.register_module(model)
    model(torch.tensor([0]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randint(0, 7, (4,))).sum().backward()
        optimizer.step()
    return [model]


TRAININGS = {
    "recurrent": train_tagger,
    "gan": train_gan,
    "accumulating": train_accumulating,
    "checkpointed": lambda hook: train_checkpointed(hook, reentrant=False),
    "checkpointed-reentrant": lambda hook: train_checkpointed(hook, reentrant=True),
    "mixed-precision": train_mixed_precision,
    "sparse-and-complex": train_sparse_and_complex,
}
CONFIGS = {
    "values": {},
    "reductions": {"reduction_config": smd.ReductionConfig(reductions=["mean", "std", "max"], norms=["l1"])},
    "losses": {"detect_losses": True, "explicit_steps": False},
}


def state(models):
    buffer = io.BytesIO()
    torch.save([[model.state_dict(), [parameter.grad for parameter in model.parameters()]] for model in models], buffer)
    return buffer.getvalue()


@pytest.mark.filterwarnings("ignore:.*use_reentrant.*", "ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("train", TRAININGS.values(), ids=TRAININGS)
def test_training_when_everything_is_saved_then_ends_the_same_to_the_bit(make_hook, open_trial, train, config):
    """Weights, gradients and random numbers are those of a run without the hook, and every trial opens."""
    torch.manual_seed(3)
    without = state(train(None))
    random_without = torch.rand(2)
    torch.manual_seed(3)
    hook = make_hook(save_all=True, **config)
    attached = state(train(hook))
    assert torch.equal(torch.rand(2), random_without)
    trial = open_trial(hook)
    assert attached == without
    assert hook.failure is None
    assert trial.tensor_names(collection="gradients")


def test_outputs_when_they_are_a_dictionary_then_are_captured(make_hook, open_trial):
    """A model's dictionary, and the nested states of a recurrent layer, are numbered through."""
    hook = make_hook(include_regex=["Tagger_output", "lstm_output"])
    train_tagger(hook, 1)
    trial = open_trial(hook)
    assert trial.tensor_names() == [
        "Tagger_output_0",
        "Tagger_output_1",
        "lstm_output_0",
        "lstm_output_1",
        "lstm_output_2",
    ]
    assert trial.tensor("Tagger_output_0").value(0).shape == (3, 5, 11)


def test_weights_when_tied_then_are_saved_once(make_hook, open_trial):
    """A parameter with two owners has the first one's name."""
    hook = make_hook(include_collections=["weights", "gradients"])
    train_tagger(hook, 1)
    names = open_trial(hook).tensor_names()
    assert "Tagger_embedding.weight" in names
    assert "Tagger_head.weight" not in names


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*")
def test_model_when_a_part_is_compiled_by_jit_then_all_but_its_outputs_is_saved(make_hook, open_trial, caplog):
    """A part that takes no hooks is named, and trained and captured all the same; as a whole it is refused."""
    part = torch.jit.script(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    model = nn.Sequential(part, nn.Linear(3, 1))
    hook = make_hook(save_all=True)
    with pytest.raises(SMDebugTypeError, match=r"compiled by torch\.jit"):
        hook.register_module(part)
    hook.register_module(model)
    for _ in range(2):
        model(torch.ones(4, 2)).sum().backward()
    trial = open_trial(hook)
    assert "inside compiled code are not saved: 0, 0.0, 0.1;" in caplog.text
    assert {"Sequential_0.0.weight", "gradient/Sequential_0.0.weight", "1_input_0"} <= set(trial.tensor_names())
    assert trial.tensor("gradient/Sequential_0.0.weight").steps() == [0, 1]
    assert np.array_equal(trial.tensor("Sequential_0.0.weight").value(1), part[0].weight.detach())


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("reentrant", [False, True])
def test_outputs_when_computed_again_then_are_saved_once(make_hook, open_trial, reentrant):
    """Activation checkpointing neither makes steps nor saves anything twice."""
    hook = make_hook(include_regex=["layers.1_output"])
    train_checkpointed(hook, reentrant, 2)
    trial = open_trial(hook)
    assert trial.steps() == [0, 1]
    assert trial.tensor_names() == ["1.layers.1_output_0", "2.layers.1_output_0"]


class TestExplicitSteps:
    def test_steps_when_they_are_explicit_then_all_batches_between_make_one(self, make_hook, open_trial):
        """Gradient accumulation is one step: weights of its beginning, outputs of all its batches."""
        hook = make_hook(
            explicit_steps=True, include_collections=["weights", "gradients"], include_regex=["Linear_output"]
        )
        model = nn.Linear(2, 1)
        hook.register_module(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        before = []
        for _ in range(3):
            before.append(model.weight.detach().clone())
            for _ in range(4):
                model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            hook.step()
        trial = open_trial(hook)
        assert trial.steps() == [0, 1, 2]
        assert [name for name in trial.tensor_names() if "output" in name] == [f"Linear_output_{at}" for at in range(4)]
        for step, weight in enumerate(before):
            assert torch.equal(torch.tensor(trial.tensor("Linear_weight").value(step)), weight)

    def test_steps_when_two_models_share_one_then_both_are_saved_in_it(self, make_hook, open_trial):
        """All models that run between two calls belong to one step."""
        hook = make_hook(explicit_steps=True, include_collections=["weights"])
        models = [nn.Linear(2, 2), nn.Bilinear(2, 2, 1)]
        for model in models:
            hook.register_module(model)
        for _ in range(2):
            x = models[0](torch.ones(1, 2))
            models[1](x, x)
            hook.step()
        trial = open_trial(hook)
        assert trial.tensor("Linear_weight").steps() == trial.tensor("Bilinear_weight").steps() == [0, 1]

    def test_save_tensor_when_given_after_backward_then_belongs_to_the_step_that_is_ended(self, make_hook, open_trial):
        """Such as the sum of gradients, which is known then; of a step that is not due it waits, and gives way."""
        hook = make_hook(
            explicit_steps=True, include_collections=["gradients"], save_config=smd.SaveConfig(save_interval=2)
        )
        model = nn.Linear(2, 1)
        hook.register_module(model)
        for step in range(4):
            for _ in range(3):
                model(torch.full((1, 2), float(step))).sum().backward()
            hook.save_tensor("sum", model.weight.grad, "gradients")
            model.zero_grad()
            hook.step()
        saved = open_trial(hook).tensor("sum")
        assert {step: value.tolist() for step, value in saved.values().items()} == {0: [[0, 0]], 2: [[6, 6]]}

    def test_gradients_when_models_have_optimizers_of_their_own_then_are_those_that_each_uses(
        self, make_hook, open_trial
    ):
        """The generator's backward pass goes through the discriminator, after that has been updated."""
        hook = make_hook(explicit_steps=True, include_collections=["gradients"])
        torch.manual_seed(0)
        models = [nn.Linear(2, 1), nn.Bilinear(3, 3, 2)]
        discriminator, generator = models
        for model in models:
            hook.register_module(model)
        of_discriminator, of_generator = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
        used = []
        for _ in range(3):
            noise = torch.randn(4, 3)
            of_discriminator.zero_grad()
            discriminator(generator(noise, noise).detach()).mean().backward()
            used.append(discriminator.weight.grad.clone())
            of_discriminator.step()
            of_generator.zero_grad()
            discriminator(generator(noise, noise)).mean().neg().backward()
            used.append(generator.weight.grad.clone())
            of_generator.step()
            hook.step()
        trial = open_trial(hook)
        for name, expected in (("Linear", used[::2]), ("Bilinear", used[1::2])):
            saved = [torch.tensor(value) for _, value in trial.tensor(f"gradient/{name}_weight").items()]
            assert all(torch.equal(left, right) for left, right in zip(saved, expected, strict=True)), name

    def test_gradients_when_optimizer_evaluates_several_times_then_are_the_last(self, make_hook, open_trial):
        """LBFGS calls forward and backward passes itself, before its update is done."""
        hook = make_hook(explicit_steps=True, include_collections=["gradients"])
        torch.manual_seed(0)
        model, seen = nn.Linear(2, 1), []
        hook.register_module(model)
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)

        def closure():
            optimizer.zero_grad()
            loss = (model(torch.ones(1, 2)) - 3).square().sum()
            loss.backward()
            seen[-1] = model.weight.grad.clone()
            return loss

        for _ in range(2):
            seen.append(None)
            closure()
            optimizer.step(closure)
            hook.step()
        saved = [torch.tensor(value) for _, value in open_trial(hook).tensor("gradient/Linear_weight").items()]
        assert all(torch.equal(left, right) for left, right in zip(saved, seen, strict=True))

    def test_gradients_when_the_update_comes_first_then_are_those_after_it(self, make_hook, open_trial):
        """The update has used the gradients of the step before."""
        hook = make_hook(explicit_steps=True, include_collections=["gradients"])
        model = nn.Linear(2, 1)
        hook.register_module(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            output = model(torch.full((1, 2), float(step))).sum()
            optimizer.step()
            optimizer.zero_grad()
            output.backward()
            hook.step()
        saved = open_trial(hook).tensor("gradient/Linear_weight")
        assert [value.tolist() for _, value in saved.items()] == [[[step, step]] for step in range(3)]

    def test_steps_when_model_is_used_through_methods_then_says_how_they_begin(self, make_hook, open_trial, caplog):
        """Without a forward pass there is no step to end; `begin_step` begins one."""
        hook = make_hook(explicit_steps=True, include_collections=["weights", "gradients"])
        model = Tagger()
        hook.register_module(model)
        for at in range(4):
            if at > 1:
                hook.begin_step(model)
            model.lstm(torch.ones(1, 1, 8))[0].sum().backward()
            hook.step()
        [said] = caplog.messages
        assert said.startswith("step() ends no step")
        assert "call begin_step(model) before" in said
        trial = open_trial(hook)
        assert trial.tensor("Tagger_lstm.weight_ih_l0").steps() == [0, 1]
        assert trial.tensor("gradient/Tagger_lstm.weight_ih_l0").steps() == [0, 1]

    @pytest.mark.parametrize("explicit_steps", [False, True])
    def test_tensors_when_models_share_a_part_then_each_has_one_name(self, make_hook, open_trial, explicit_steps):
        """A shared part is saved under the names of the model registered first, whichever model runs."""

        class Critic(nn.Module):
            def __init__(self, encoder):
                super().__init__()
                self.encoder = encoder
                self.head = nn.Linear(2, 1)

            def forward(self, x):
                return self.head(self.encoder(x))

        class Player(Critic):
            pass

        torch.manual_seed(0)
        encoder = nn.Linear(3, 2, bias=False)
        critic, player = Critic(encoder), Player(encoder)
        hook = make_hook(
            explicit_steps=explicit_steps,
            include_collections=["weights", "gradients"],
            include_regex=["encoder_output"],
        )
        hook.register_module(critic)
        hook.register_module(player)
        expected = []
        for _ in range(3):
            for model in (critic, player):
                encoder.weight.grad = None
                model(torch.ones(1, 3)).sum().backward()
                expected.append(encoder.weight.grad.clone())
            if explicit_steps:
                hook.step()
        trial = open_trial(hook)
        if explicit_steps:
            assert trial.steps() == [0, 1, 2]
            expected = expected[1::2]
            assert trial.tensor("encoder_output_1").steps() == [0, 1, 2]
        weights = trial.tensor_names(collection="weights")
        assert weights == ["Critic_encoder.weight", "Critic_head.weight", "Player_head.weight"]
        assert trial.tensor("Critic_encoder.weight").steps() == trial.steps()
        saved = trial.tensor("gradient/Critic_encoder.weight").values().values()
        assert len(saved) == len(expected)
        assert all(torch.equal(torch.tensor(left), right) for left, right in zip(saved, expected, strict=True))
        assert "gradient/Player_encoder.weight" not in trial.tensor_names()

    def test_step_when_steps_are_forward_passes_then_refuses(self, make_hook):
        """Calling it by mistake is told; the number can be read all the same."""
        hook = make_hook()
        assert hook.step == -1
        with pytest.raises(SMDebugRuntimeError, match="explicit_steps"):
            hook.step()


class TestDetectLosses:
    def test_loss_when_it_is_a_function_then_is_found(self, make_hook, open_trial):
        """The number that backward is called on is a loss; one that was registered is not saved twice."""
        hook = make_hook(detect_losses=True)
        model, registered = nn.Linear(2, 1), nn.MSELoss()
        hook.register_module(model)
        hook.register_loss(registered)
        seen = []
        for at in range(4):
            output = model(torch.ones(3, 2))
            loss = registered(output, torch.ones(3, 1)) if at == 3 else F.l1_loss(output, torch.ones(3, 1))
            seen.append(loss.item())
            torch.autograd.backward([loss]) if at == 1 else loss.backward()
        trial = open_trial(hook)
        assert trial.tensor_names(collection="losses") == ["MSELoss_output_0", "loss_output_0"]
        assert [float(trial.tensor("loss_output_0").value(step)) for step in range(3)] == seen[:3]
        assert trial.tensor("loss_output_0").steps() == [0, 1, 2]

    def test_losses_when_nothing_is_due_then_are_looked_at_no_more(self, make_hook, open_trial):
        """Losses by function or found cost nothing in steps between those saved, and lose nothing in those."""
        hook = make_hook(detect_losses=True, save_config=smd.SaveConfig(save_interval=4))
        model = nn.Linear(2, 1)
        hook.register_module(model)
        for step in range(10):
            loss = F.l1_loss(model(torch.ones(3, 2)), torch.full((3, 1), float(step)))
            hook.record_tensor_value("own_loss", loss)
            loss.backward()
            if step == 3:
                assert hook._skipped.num_begun == 2
            if step == 6:
                hook.get_collection("losses").save_config = smd.SaveConfig(save_steps=[6, 8])
                hook.record_tensor_value("late_loss", loss)
        trial = open_trial(hook)
        assert trial.tensor("loss_output_0").steps() == trial.tensor("own_loss_output_0").steps() == [0, 4, 8]
        assert trial.tensor("late_loss_output_0").steps() == [6]

    def test_backward_when_hook_is_closed_then_is_the_original(self, make_hook):
        """Nothing of PyTorch stays replaced."""
        original = torch.autograd.backward
        hook = make_hook(detect_losses=True)
        assert torch.autograd.backward is not original
        hook.close()
        assert torch.autograd.backward is original

    def test_backward_when_given_an_iterator_then_starts_from_all_of_it(self, make_hook, open_trial):
        """It can be gone through only once, and the gradients are those of a run without the hook."""
        hook = make_hook(detect_losses=True)
        model, twin = nn.Linear(2, 1), nn.Linear(2, 1)
        hook.register_module(model)
        for module in (model, twin):
            output = module(torch.ones(3, 2))
            torch.autograd.backward(loss for loss in (output.sum(), output.mean()))
        assert model.weight.grad.tolist() == twin.weight.grad.tolist() == [[4, 4]]
        assert open_trial(hook).tensor_names() == [f"loss_output_{at}" for at in range(4)]

    def test_backward_when_given_an_edge_then_it_is_passed_over(self, make_hook, open_trial):
        """What stands for a tensor has no number."""
        edge = pytest.importorskip("torch.autograd.graph").get_gradient_edge
        try:
            torch.autograd.backward(edge(torch.ones(1, requires_grad=True).sum()), torch.ones(()))
        except (AttributeError, TypeError, RuntimeError):
            pytest.skip("this version of PyTorch starts from tensors only")
        hook = make_hook(detect_losses=True)
        model = nn.Linear(2, 1)
        hook.register_module(model)
        loss = model(torch.ones(3, 2)).sum()
        torch.autograd.backward(edge(loss), torch.ones(()), retain_graph=True)
        torch.autograd.backward((edge(loss), edge(loss)), (torch.ones(()), torch.ones(())))
        assert model.weight.grad.tolist() == [[9, 9]]
        model(torch.ones(3, 2)).sum().backward()
        assert open_trial(hook).tensor("loss_output_0").steps() == [1]

    def test_backward_when_given_what_is_none_then_fails_as_without_hook(self, make_hook):
        """The error is PyTorch's own, and the hook goes on."""
        hook = make_hook(detect_losses=True)
        with pytest.raises(TypeError):
            torch.autograd.backward(5)
        assert hook.failure is None

    @pytest.mark.filterwarnings("ignore:.*use_reentrant.*", "ignore:None of the inputs have requires_grad")
    @pytest.mark.parametrize("reentrant", [False, True])
    def test_loss_when_computed_again_then_is_saved_once(self, make_hook, open_trial, reentrant):
        """Within the backward pass PyTorch calls backward itself."""

        class Losing(nn.Linear):
            def forward(self, x):
                return checkpoint(lambda x: super(Losing, self).forward(x).mean(), x, use_reentrant=reentrant)

        hook = make_hook(detect_losses=True)
        model = Losing(2, 1)
        hook.register_module(model)
        for _ in range(2):
            model(torch.ones(3, 2, requires_grad=True)).backward()
        assert open_trial(hook).tensor_names() == ["loss_output_0"]

    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)])
    def test_backward_when_several_hooks_are_closed_in_any_order_then_is_the_original(self, make_hook, order):
        """Each looks until it is closed, and the last one leaves nothing behind."""
        original = torch.autograd.backward
        hooks = [make_hook(str(at), detect_losses=True) for at in range(3)]
        models = [nn.Linear(1, 1) for _ in hooks]
        for hook, model in zip(hooks, models, strict=True):
            hook.register_module(model)
        for at in order:
            for model in models:
                model(torch.ones(1, 1)).sum().backward()
            hooks[at].close()
        assert torch.autograd.backward is original

    def test_backward_when_replaced_by_another_then_that_one_stays(self, make_hook, monkeypatch):
        """The script's own function is not taken away; once it is gone, the next hook leaves the original."""
        original = torch.autograd.backward
        hook = make_hook("first", detect_losses=True)
        ours = torch.autograd.backward
        torch.autograd.backward = another = functools.partial(ours)
        hook.close()
        assert torch.autograd.backward is another
        torch.autograd.backward = ours
        make_hook("second", detect_losses=True).close()
        assert torch.autograd.backward is original


class TestCopies:
    def test_model_when_copied_while_attached_then_the_copy_is_free(self, make_hook, open_trial, trainer):
        """Averaged weights and the like are copies of the model, which are no steps."""
        hook = make_hook(save_all=True)
        training = trainer(hook).train(1)
        twin = copy.deepcopy(training.model)
        images, _ = training.batch()
        twin(images).sum().backward()
        training.train(1)
        assert open_trial(hook).steps() == [0, 1]
        assert hook.step == 1

    def test_model_when_stored_whole_while_attached_then_loads(self, make_hook, trainer):
        """A model can be pickled in the middle of training."""
        hook = make_hook(save_all=True)
        training = trainer(hook).train(1)
        buffer = io.BytesIO()
        torch.save(training.model, buffer)
        buffer.seek(0)
        loaded = torch.load(buffer, weights_only=False)
        images, _ = training.batch()
        assert torch.equal(loaded(images), training.model(images))
        assert hook.failure is None

    def test_model_when_stored_while_attached_then_loads_where_the_package_is_missing(self, make_hook, trainer):
        """Neither a stored model nor a copy of it holds anything of this package."""
        hook = make_hook(save_all=True)
        training = trainer(hook).train(1)
        for model in (training.model, copy.deepcopy(training.model)):
            for module in model.modules():
                for function in [*module._forward_hooks.values(), *module._forward_pre_hooks.values()]:
                    assert b"sagemaker_debug_ext" not in pickle.dumps(function)
                    loaded = pickle.loads(pickle.dumps(function))
                    assert loaded(module, (), {}, None) is loaded(module, ()) is None


class Exported(nn.Module):
    """Has two layers, of which one is shared, and a method of its own for what runs it later."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.shared = self.layers[0]

    def forward(self, x):
        return self.shared(self.layers(x))

    @torch.jit.export
    def twice(self, x):
        return self.forward(self.forward(x))


@pytest.mark.filterwarnings("ignore:.*torch.jit.*")
class TestExport:
    @pytest.fixture
    def attached(self, make_hook):
        """A model in the middle of a saved step, with something on each of its modules."""
        hook = make_hook(save_all=True)
        model = Exported()
        hook.register_module(model)
        model(torch.ones(1, 2)).sum().backward()
        return hook, model

    def test_script_when_attached_then_is_what_it_is_without_hook(self, attached, open_trial, tmp_path):
        """The compiled model shares the parameters, calls no hook, and can be stored; the model is still captured."""
        hook, model = attached
        before = registered(model)
        scripted = torch.jit.script(model)
        assert registered(model) == before
        assert model.shared is model.layers[0]
        assert hook.step == 0
        assert scripted.shared.weight is model.shared.weight
        scripted.save(str(tmp_path / "model.pt"))
        x = torch.randn(3, 2)
        for copied in (scripted, torch.jit.load(tmp_path / "model.pt"), torch.jit.script(copy.deepcopy(model))):
            assert torch.equal(copied(x), model(x))
            assert torch.equal(copied.twice(x), model.twice(x))
        assert scripted.code == torch.jit.script(Exported()).code
        steps = hook.step + 1
        trial = open_trial(hook)
        assert trial.tensor("Exported_output_0").steps() == trial.tensor("layers.1_output_0").steps()
        assert trial.steps() == list(range(steps))

    def test_script_when_a_part_of_what_is_attached_then_the_model_keeps_its_parts(self, attached):
        """What is compiled in the place of a part does not take that place."""
        _, model = attached
        parts = list(model.modules())
        assert torch.jit.script(model.layers)(torch.ones(1, 2)).shape == (1, 2)
        assert torch.jit.script(nn.Sequential(model, nn.ReLU()))(torch.ones(1, 2)).shape == (1, 2)
        assert all(left is right for left, right in zip(parts, model.modules(), strict=True))

    def test_script_when_a_module_has_hooks_of_the_script_then_they_are_compiled(self, attached):
        """Only ours are left out."""
        _, model = attached

        def double(self, inputs: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
            return (inputs[0] * 2,)

        x = torch.ones(1, 2)
        model.layers[1].register_forward_pre_hook(double)
        assert torch.equal(torch.jit.script(model)(x), model(x))

    def test_close_when_several_hooks_were_attached_then_modules_are_as_before(self, make_hook):
        """What has modules compiled without our hooks goes with the last one."""
        hooks = [make_hook(str(at)) for at in range(2)]
        for hook in hooks:
            hook.register_module(nn.Linear(1, 1))
        hooks[0].close()
        assert hasattr(nn.Module, "__prepare_scriptable__")
        hooks[1].close()
        assert not hasattr(nn.Module, "__prepare_scriptable__")

    def test_trace_and_export_when_attached_then_give_what_they_give_without_hook(self, attached):
        """The other ways to take a model out of Python leave the hook alone."""
        hook, model = attached
        x = torch.ones(1, 2)
        plain = nn.Sequential(model.layers)  # without the method that is to be compiled
        traced = torch.jit.trace(plain, x, check_trace=False)
        assert hook.step == 0
        assert torch.equal(traced(x), plain(x))
        assert torch.equal(torch.export.export(model, (x,)).module()(x), model(x))
        assert torch.equal(torch.fx.symbolic_trace(model)(x), model(x))


def registered(model):
    """What is registered with each module of a model."""
    return [[*module._forward_pre_hooks.values(), *module._forward_hooks.values()] for module in model.modules()]


def test_model_when_inputs_are_named_then_they_follow_the_others(make_hook, open_trial):
    """Models of libraries are called by keywords; what is no tensor is passed over."""

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(5, 2)

        def forward(self, scale, ids=None, mask=None, deep=False):
            return self.table(input=ids) * mask[..., None] * scale

    hook = make_hook(save_all=True)
    model = Reader()
    hook.register_module(model)
    scale, ids, mask = torch.tensor(2.0), torch.tensor([[1, 4]]), torch.tensor([[1.0, 0.0]])
    model(scale, ids=ids, deep=True, mask=mask).sum().backward()
    trial = open_trial(hook)
    for name, wanted in {
        "Reader_input_0": scale,
        "Reader_input_1": ids,
        "Reader_input_2": mask,
        "table_input_0": ids,
    }.items():
        assert trial.tensor(name).value(0).tolist() == wanted.reshape(trial.tensor(name).value(0).shape).tolist(), name
    assert "Reader_input_3" not in trial.tensor_names()


def test_models_when_alike_then_every_tensor_is_that_of_one(make_hook, open_trial):
    """Two towers: parameters, gradients, inputs and outputs of both, each under a name of its own."""

    class Tower(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 2)

        def forward(self, x):
            return self.fc(x)

    query, document = Tower(), Tower()
    hook = make_hook(save_all=True, explicit_steps=True)
    hook.register_module(query)
    hook.register_module(document)
    first, second = torch.randn(4, 3), torch.randn(4, 3)
    given = query(first), document(second)
    (given[0] * given[1]).sum().backward()
    hook.step()
    trial = open_trial(hook)
    for tower, model, layer, inputs, outputs in (
        (query, "Tower", "fc", first, given[0]),
        (document, "Tower_1", "Tower_1.fc", second, given[1]),
    ):
        for name, wanted in {
            f"{model}_fc.weight": tower.fc.weight,
            f"{model}_fc.bias": tower.fc.bias,
            f"gradient/{model}_fc.weight": tower.fc.weight.grad,
            f"{model}_input_0": inputs,
            f"{model}_output_0": outputs,
            f"{layer}_input_0": inputs,
            f"{layer}_output_0": outputs,
        }.items():
            np.testing.assert_array_equal(trial.tensor(name).value(0), wanted.detach().numpy(), name)
    assert len(trial.tensor_names()) == 16
