"""Capture of unmodified PyTorch scripts: the hook finds models and losses automatically.

`install` adds a global forward pre-hook to PyTorch. A module that the script calls directly, not through another
module, is a model if it has trainable parameters, and a loss if its class is named like one. After many calls without
a new module, the pre-hook is removed. Losses and dropout of `torch.nn.functional`, and the iteration over data loaders,
are wrapped.
"""

from __future__ import annotations

import collections
import functools
import inspect
import logging
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import torch
from torch import nn
from torch.nn.modules import module as modules
from torch.optim.optimizer import Optimizer
from torch.utils.data import DataLoader, get_worker_info
from torch.utils.hooks import RemovableHandle

from sagemaker_debug_ext._s3_urls import SCHEME
from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.auto.bare_loops import BareLoop
from sagemaker_debug_ext.hooks.auto.gradient_resets import GradientResets
from sagemaker_debug_ext.hooks.auto.made_anew import MadeAnew
from sagemaker_debug_ext.hooks.auto.observed_modes import ObservedModes
from sagemaker_debug_ext.hooks.auto.pytorch_functions import wrap_dropout, wrap_losses
from sagemaker_debug_ext.hooks.fail_safe import fail_safe, never_into_script
from sagemaker_debug_ext.hooks.options.config_file import HookConfiguration
from sagemaker_debug_ext.hooks.process.sigterm import wraps_training
from sagemaker_debug_ext.hooks.program.pytorch import LoadedData, loaded_data
from sagemaker_debug_ext.hooks.pytorch.hook import Hook
from sagemaker_debug_ext.hooks.pytorch.loss_detector import LossDetector
from sagemaker_debug_ext.hooks.pytorch.module_hooks import HookCallback
from sagemaker_debug_ext.hooks.pytorch.overridable import NO_BACKWARD, current_backward
from sagemaker_debug_ext.hooks.pytorch.registration import path_in_containers
from sagemaker_debug_ext.hooks.pytorch.torch_compile import compiled_call
from sagemaker_debug_ext.vocabulary import ModeKeys

LOG = logging.getLogger(__name__)

wraps_training(__name__)

_CALL: Final = nn.Module._call_impl.__code__  # noqa: SLF001 - the frame that stands for a call of a module
_SETTLED_AFTER_CALLS: Final = 100_000
"""Number of consecutive calls of known modules after which no new model or loss is expected."""
_MOST_LOSSES: Final = 8
"""Number of losses of one class to capture."""
_MOST_MODELS: Final = 64
"""Number of models of one class to capture."""
_NUM_LOOKS: Final = 3
"""Number of backward passes whose losses are looked at."""


class AutoHook(Hook):
    """A hook that derives the mode of a step from what happens, and finds losses by calls of ``backward``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._modes = ObservedModes()
        self._resets = GradientResets()
        self._bare_loop: BareLoop | None = None
        self._has_bare_loss = False
        self._last_shape: tuple[int, ...] = ()
        self._num_looks = 0
        self._have_run: weakref.WeakSet[nn.Module] = weakref.WeakSet()
        self._made_anew = MadeAnew()
        super().__init__(*args, detect_losses=True, **kwargs)
        self.mode_follows_model = True

    @property
    def is_closed(self) -> bool:
        """Whether the script has closed it."""
        return self._lifecycle.is_closed

    def note_data(self, data: LoadedData) -> None:
        """Note what the loader yields over which the script iterates."""
        self._program.note_data(data)

    @fail_safe
    def record_loss(
        self,
        kind: str,
        arguments: Mapping[str, Any],
        inputs: tuple[Any, Any],
        output: torch.Tensor,
        module: nn.Module | None,
    ) -> None:
        """Save a call of a loss function as one of the loss module of class `kind`, unless that is saved itself."""
        if module is not None and self._is_loss(module):
            return
        if not self.records_functions:
            return
        self._begin_step_of_bare_loss(output)
        self._note_computed_loss(output)
        self._save_custom_tensors()
        self._offer_numbered(f"{kind}_input", inputs)
        self._offer_numbered(f"{kind}_output", output)
        if self._detector is not None:
            self._detector.exclude([output])
        if self._steps.open is not None:
            self._note_loss(kind, kind, lambda: arguments, inputs)

    @fail_safe
    def record_dropout(self, function: str, drops: bool, module: nn.Module | None) -> None:
        """Save whether a call of a dropout function drops elements, as ``functional.<function>_active_<i>``.

        A dropout that belongs to a model is saved itself; one that the forward pass makes anew each time does not.
        """
        if self.records_functions and (module is None or not self._roots.has_part(module)):
            self._offer_numbered(f"functional.{function}_active", torch.tensor(float(drops)))

    @property
    def records_functions(self) -> bool:
        """Whether calls of functions belong to what is captured now."""
        if self.is_closed or current_backward() != NO_BACKWARD:
            return False
        return not (self._skipped.is_skipping or self._role.is_helper)

    def _make_detector(self) -> LossDetector:
        return LossDetector(self._on_backward, self._on_backward_done)

    def _mode_of(self, module: nn.Module) -> ModeKeys:
        if self._modes.is_left(module):
            self._steps.correct_mode(ModeKeys.EVAL)
            if not self._current_plan():
                self._steps.discard_open()
        return self._modes.mode_of(module)

    def _note_computed_loss(self, loss: Any) -> None:
        if self._modes.note_loss(loss):
            self._steps.correct_mode(ModeKeys.EVAL)

    @fail_safe
    def _on_output(self, module: nn.Module, inputs: tuple[Any, ...], outputs: Any) -> None:
        self._have_run.add(module)
        if current_backward() == NO_BACKWARD:
            self._modes.mark(module, outputs)
            if self._num_looks < _NUM_LOOKS:
                self._last_shape = _shape_of_answers(inputs, outputs)

    @fail_safe
    def _on_module(
        self, name: str, module: nn.Module, inputs: tuple[Any, ...], named_inputs: dict[str, Any], outputs: Any
    ) -> None:
        if self._is_loss(module) and current_backward() == NO_BACKWARD:
            self._begin_step_of_bare_loss(outputs)
            self._note_computed_loss(outputs)
        super()._on_module(name, module, inputs, named_inputs, outputs)

    @fail_safe
    def _on_optimizer(self, optimizer: Optimizer, *_: Any) -> None:
        super()._on_optimizer(optimizer)
        if self._modes.note_update(optimizer):
            self._steps.correct_mode(ModeKeys.TRAIN)
        are_kept = self._resets.note_update(optimizer)
        if are_kept is not None and self.records_functions:
            kind, number = type(optimizer).__name__, self._resets.number_of(optimizer)
            self._capture_missing(f"{kind}_gradients_kept_{number}", torch.tensor(float(are_kept)))
            rate = optimizer.param_groups[0].get("lr")
            if isinstance(rate, (float, torch.Tensor)):
                self._capture_missing(f"{kind}_learning_rate_{number}", torch.as_tensor(rate).detach())

    @fail_safe
    def _on_backward(self, tensors: Iterable[Any]) -> None:
        if current_backward() == NO_BACKWARD:
            data = None if self._bare_loop is None else self._bare_loop.data_of(tensors)
            if self._bare_loop is not None and data is not None:
                self._begin_bare_step(self._bare_loop.model, data)
            self._modes.note_backward(tensors)
            self._resets.note_backward(reads_values=self.records_functions and bool(self._current_plan()))
            if self._num_looks < _NUM_LOOKS:
                self._look_at_loss(tensors)
        super()._on_backward(tensors)

    def _look_at_loss(self, tensors: Iterable[Any]) -> None:
        """Record a loss of the script's own that goes wrong, if it is among the first."""
        if not self._last_shape or self._detector is None:
            return
        self._num_looks += 1
        with never_into_script(functools.partial(_report, "loss")):
            for loss in self._detector.losses_among(tensors):
                if self._program.note_own_loss(loss, self._last_shape):
                    self._describe_program()

    @fail_safe
    def _on_backward_done(self) -> None:
        self._resets.note_backward_done()

    def follow(self, loop: BareLoop, data: tuple[torch.Tensor, ...], tensors: Iterable[Any]) -> None:
        """Capture a loop that trains tensors of the script itself, until a model runs.

        Args:
            loop: The loop.
            data: The data of its first step.
            tensors: What the backward pass of this step starts from.
        """
        self._begin_bare_step(loop.model, data)
        self._on_backward(tensors)
        self._bare_loop = loop

    def expect(self, loop: BareLoop) -> None:
        """Capture a loop that trains tensors of the script itself, if no model runs before its second step."""
        self._bare_loop = loop

    def _begin_step_of_bare_loss(self, loss: Any) -> None:
        """Begin a step of a loop without a module where its loss is computed, so that the loss belongs to it."""
        if self._bare_loop is None or self._has_bare_loss or not self._has_model():
            return
        if isinstance(loss, torch.Tensor) and loss.requires_grad:
            self.begin_step(self._bare_loop.model)
            self._has_bare_loss = True

    def _begin_bare_step(self, model: nn.Module, data: tuple[torch.Tensor, ...]) -> None:
        """Begin a step of a loop without a module, unless its loss has, where its backward pass is starting."""
        if not self._has_model():
            self.register_module(model)
        self._program.note_inputs(model, data)
        self._last_shape = (len(data[0]),) if data else ()
        if not self._has_bare_loss:
            self.begin_step(model)
        self._has_bare_loss = False
        if self.records_functions:
            self._offer_numbered(f"{type(model).__name__}_input", data)

    def join(self, module: nn.Module, inputs: tuple[Any, ...] = ()) -> bool:
        """Register a module whose forward pass is starting with some inputs; return whether to, once it runs again."""
        model = self._running_model(module)
        path = None if model is None or _is_loss(module) else path_in_containers(module, model)
        if path is None and _is_keras_layer(module):  # whose model keeps it where PyTorch does not look
            path = str(module.name)
        if model is not None and path is not None:
            self._register_hidden_part(module, model, path)
            return False
        is_further_loss = _is_loss(module) and self._has_model()  # may be trainable
        if _is_model(module) and not is_further_loss:
            if model in self._have_run and not self._made_anew.is_kept(module, inputs):
                if self._program.note_made_anew(self._made_anew.shapes):
                    self._describe_program()
                return True
            self._bare_loop = None
            self.register_module(module)
            if compiled_call(module) is None:
                self._handles.append(module.register_forward_hook(HookCallback(self._on_output)))
            self._program.note_inputs(module, inputs)
            self.begin_step(module)
        else:
            self.register_loss(module)
        return False

    def is_next_model(self, module: nn.Module) -> bool:
        """Return whether a module that shares layers with a model is another one, as where a new head is put on them.

        It has further parameters to train. What encloses a whole model, or runs in one, is no other model.
        """
        if self._running_model(module) is not None:  # quicker to tell than the rest, for modules made anew in each pass
            return False
        roots = [root.module for root in self._roots]
        enclosed = {id(part) for part in module.modules()}
        if any(id(root) in enclosed for root in roots):
            return False
        known = {id(parameter) for root in roots for parameter in root.parameters()}
        return any(parameter.requires_grad and id(parameter) not in known for parameter in module.parameters())

    def _running_model(self, part: nn.Module) -> nn.Module | None:
        """Return the registered model whose forward pass calls a module."""
        models = [root.module for root in self._roots if root.is_model and root.parent is None]
        frame = inspect.currentframe()
        while frame is not None:
            if frame.f_code is _CALL:
                caller = frame.f_locals.get("self")
                if caller is not part and any(caller is model for model in models):
                    return caller
            frame = frame.f_back
        return None


class _Finder:
    """Finds models and losses among all modules that are called."""

    def __init__(self, configuration: HookConfiguration) -> None:
        self._configuration = configuration
        self._hook: AutoHook | None = None
        self._known: set[int] = set()
        self._num_of_class: collections.Counter[str] = collections.Counter()
        self._num_calls_without_news = 0
        self._pid = os.getpid()
        self._is_remote = str(configuration.options.out_dir).startswith(SCHEME)
        self._data: LoadedData | None = None
        self._bare_loop = BareLoop()
        self._has_seen_backward = False
        self._detector = LossDetector(self._on_backward)
        self._handle: RemovableHandle | None = None

    def start(self) -> None:
        """Start inspecting modules, and backward passes until there is a hook."""
        self._handle = modules.register_module_forward_pre_hook(HookCallback(self.look))
        self._detector.attach()

    def look(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        """Inspect a module that is about to run."""
        if id(module) in self._known or not self._may_matter(module):
            self._num_calls_without_news += 1
            if self._num_calls_without_news == _SETTLED_AFTER_CALLS:
                self.stop()
            return
        if self._hook is None and not self._has_seen_backward and _is_keras_layer(module):
            return  # Keras calls layers to build them; those that `fit` trains are captured by another hook
        self._num_calls_without_news = 0
        if os.getpid() != self._pid and not self._follow():
            return
        if self._hook is not None and self._hook.is_closed:
            self.stop()
            return
        parts = {id(part) for part in module.modules()}
        is_part = not self._known.isdisjoint(parts)
        if is_part and self._hook is not None and torch.is_grad_enabled():
            is_part = not self._hook.is_next_model(module)
        self._known |= parts
        # Other modules may have the same addresses once these are gone.
        weakref.finalize(module, self._known.difference_update, parts).atexit = False
        if is_part or not (_is_model(module) or _is_loss(module)):
            return
        with never_into_script(functools.partial(_report, type(module).__name__)):
            if self._hook is None:
                if registry.has_hook():
                    self.stop()
                    return
                self._hook = self._make_hook()
                self._hook.expect(self._bare_loop)
            self._num_of_class[type(module).__name__] += 1
            self._known.difference_update(parts if self._hook.join(module, inputs) else ())

    def _make_hook(self) -> AutoHook:
        self._detector.detach()
        hook = AutoHook.create_from_configuration(self._configuration)
        if self._data is not None:
            hook.note_data(self._data)
        return hook

    def _on_backward(self, tensors: Iterable[Any]) -> None:
        """Look for a loop that trains tensors without a module, as long as no module was a model."""
        self._has_seen_backward = True
        with never_into_script(functools.partial(_report, "loop without a module")):
            if registry.has_hook() or os.getpid() != self._pid:
                self._detector.detach()
                return
            data = self._bare_loop.data_of(tensors)
            if data is not None:
                self._hook = self._make_hook()
                self._hook.follow(self._bare_loop, data, tensors)

    def _follow(self) -> bool:
        """Go on in this forked child if it trains and its parent has not; return whether that is so.

        What children load data or only evaluate is not captured. The claim on a folder lets one child of several write;
        S3 has no claims.
        """
        if self._hook is not None or not torch.is_grad_enabled() or get_worker_info() is not None or self._is_remote:
            return False
        self._pid = os.getpid()
        registry.CHILD_TRAINS.set()
        return True

    def _may_matter(self, module: nn.Module) -> bool:
        """Return whether a module may be a model, a loss, or a part of one.

        Modules that the script makes anew for each step are none: dropouts, further losses of a class, whose functions
        are captured, further copies of a model, and replicas for other devices.
        """
        most = _MOST_LOSSES if _is_loss(module) else _MOST_MODELS
        if self._num_of_class[type(module).__name__] >= most or "_is_replica" in vars(module):
            return False
        return bool(module._modules or module._parameters) or _is_loss(module)  # noqa: SLF001 - as `children()`, in no call

    def note_loss(
        self,
        kind: str,
        arguments: Mapping[str, Any],
        inputs: tuple[Any, Any],
        output: torch.Tensor,
        module: nn.Module | None,
    ) -> None:
        """Pass a call of a loss function on to the hook."""
        if self._hook is not None and os.getpid() == self._pid:
            self._hook.record_loss(kind, arguments, inputs, output, module)

    def wants_dropout(self) -> bool:
        """Return whether the hook saves calls of dropouts now."""
        return self._hook is not None and self._hook.records_functions and os.getpid() == self._pid

    def note_dropout(self, function: str, drops: bool, module: nn.Module | None) -> None:
        """Pass a call of a dropout function on to the hook."""
        if self._hook is not None:
            self._hook.record_dropout(function, drops, module)

    def note_loader(self, loader: DataLoader[Any]) -> None:
        """Note what the first loader yields that is iterated over."""
        if self._data is None and os.getpid() == self._pid:
            self._data = loaded_data(loader)

    def stop(self) -> None:
        """Stop inspecting modules and backward passes."""
        self._detector.detach()
        if self._handle is not None:
            self._handle.remove()
            self._handle = None


def _shape_of_answers(inputs: tuple[Any, ...], outputs: Any) -> tuple[int, ...]:
    """Return the shape of what a model answers: one number for each sample of a distribution; empty if unknown."""
    if isinstance(outputs, torch.Tensor):
        return tuple(outputs.shape)
    if isinstance(outputs, torch.distributions.Distribution) and inputs and isinstance(inputs[0], torch.Tensor):
        return tuple(inputs[0].shape[:1])
    return ()


def _report(name: str, error: Exception) -> None:
    """Log why a module is not captured, with a traceback if the reason is not known."""
    if isinstance(error, (DebugExtError, OSError)):
        LOG.warning("a %s is not captured: %s", name, error)
    else:
        LOG.error("a %s is not captured", name, exc_info=error)


def _is_model(module: nn.Module) -> bool:
    return any(parameter.requires_grad for parameter in module.parameters())


def _is_keras_layer(module: nn.Module) -> bool:
    return isinstance(module, getattr(sys.modules.get("keras"), "Layer", ()))


def _is_loss(module: nn.Module) -> bool:
    return type(module).__name__.lower().endswith("loss")


def install(configure: Callable[[int], HookConfiguration]) -> None:
    """Capture the models and losses of this process as soon as they run.

    Args:
        configure: Default save interval → hook configuration.
    """
    finder = _Finder(configure(AutoHook.default_save_interval))
    wrap_losses(finder.note_loss)
    wrap_dropout(finder.note_dropout, finder.wants_dropout)
    _wrap_loaders(finder.note_loader)
    finder.start()


def _wrap_loaders(on_loader: Callable[[DataLoader[Any]], object]) -> None:
    """Report each loader whose iteration begins."""
    original = DataLoader.__iter__

    @functools.wraps(original)
    def iterate(self: DataLoader[Any]) -> Iterator[Any]:
        with never_into_script(functools.partial(LOG.debug, "a data loader is not described: %r")):
            on_loader(self)
        return original(self)

    setattr(DataLoader, "__iter__", iterate)  # noqa: B010 - mypy refuses the assignment of a method
