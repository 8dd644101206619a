"""The PyTorch hook: weights, gradients, losses, module inputs and outputs."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import operator
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import attrs
import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

from sagemaker_debug_ext.config.groups import Collection as BaseCollection
from sagemaker_debug_ext.config.groups import compile_pattern
from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.hooks import current
from sagemaker_debug_ext.hooks.base import BaseHook, harmless
from sagemaker_debug_ext.hooks.batches import SMALL
from sagemaker_debug_ext.hooks.decisions import Decision, StepPlan
from sagemaker_debug_ext.hooks.output import CHIEF, Worker
from sagemaker_debug_ext.hooks.pytorch.copies import CopyPool
from sagemaker_debug_ext.hooks.pytorch.device_batches import DeviceBatch, find_kernels
from sagemaker_debug_ext.hooks.pytorch.gathering import Gathering
from sagemaker_debug_ext.hooks.pytorch.loss_detector import LossDetector
from sagemaker_debug_ext.hooks.pytorch.members import Members, Named
from sagemaker_debug_ext.hooks.pytorch.numbers import NeedsCareError, Summary, can_summarise
from sagemaker_debug_ext.hooks.pytorch.shards import is_sharded, local_shard
from sagemaker_debug_ext.hooks.pytorch.taps import Tap
from sagemaker_debug_ext.hooks.pytorch.tensors import (
    as_dense,
    can_capture,
    is_plain,
    plain_array,
    reduce_tensor,
    tensor_to_array,
)
from sagemaker_debug_ext.hooks.reductions import reduction_names, without_output_number
from sagemaker_debug_ext.hooks.statistics import compute_statistics
from sagemaker_debug_ext.hooks.steps import Borrowed, Captured, Numbers, OpenStep, ToReduce
from sagemaker_debug_ext.store.keys import reduction_tensor_name
from sagemaker_debug_ext.store.messages import Array
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

LOG = logging.getLogger(__name__)

_DTYPES: Final[dict[torch.dtype, np.dtype[Any]]] = {
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
}


_NO_PARAMETERS: Final[Named] = []


class _Removable(Protocol):
    def remove(self) -> None: ...


class _ModuleTensors(NamedTuple):
    module: nn.Module
    inputs: bool
    outputs: bool


class Collection(BaseCollection):
    """A named group of tensors, to which the inputs and outputs of modules can be added."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._modules: list[_ModuleTensors] = []

    def add_module_tensors(self, module: nn.Module, inputs: bool = False, outputs: bool = True) -> None:
        """Include the inputs, the outputs, or both of a module; the hook must know the module when training starts.

        Raises:
            SMDebugTypeError: It is no module.
        """
        if not isinstance(module, nn.Module):
            raise SMDebugTypeError(f"module must be a torch.nn.Module (got {module!r})")
        self._modules.append(_ModuleTensors(module, inputs, outputs))

    def resolve_modules(self, names: Mapping[int, str]) -> None:
        """Turn the modules added into patterns.

        Args:
            names: Names of the registered modules by their `id`; others are left out with a warning.
        """
        for module, inputs, outputs in self._modules:
            name = names.get(id(module))
            if name is None:
                LOG.warning("collection %r: a %s is not registered", self.name, type(module).__name__)
                continue
            self.include([f"{name}_{kind}_" for kind, wanted in (("input", inputs), ("output", outputs)) if wanted])
        self._modules.clear()


@attrs.define(eq=False)
class _Root:
    """A registered model or loss.

    Args:
        module: The module that the script calls.
        name: Its name.
        is_model: Whether its forward pass is a step.
    """

    module: nn.Module
    name: str
    is_model: bool
    _members: Members | None = None

    @property
    def plain(self) -> nn.Module:
        """The module itself where `module` is what `torch.compile` made of it, so that names stay the same."""
        return _without_compiler(self.module)

    def modules(self) -> Iterator[tuple[str, nn.Module]]:
        """Yield all modules with their names: the root by its class, the others by their path."""
        for path, module in self.plain.named_modules():
            yield path or self.name, module

    def compiled_modules(self) -> set[int]:
        """Return the `id` of every module inside compiled code, which must not be watched."""
        starts = [] if self.plain is self.module else [self.plain]
        starts += [module for module in self.plain.modules() if _compiled_call(module) is not None]
        return {id(module) for start in starts for module in start.modules()}

    def parameters(self) -> Named:
        """Return the parameters that exist by now, with the names of their tensors; the same list while they stay."""
        if not self.is_model:
            return _NO_PARAMETERS
        if self._members is None or not self._members.are_current():
            self._members = Members.of(self.plain, f"{self.name}_")
        return self._members.named


@attrs.frozen(eq=False)
class _Watch:
    """What is watched in steps that save the same of the same parameters.

    Args:
        plan: What is due.
        is_training: Whether the steps are of a mode that has gradients.
        parameters: The parameters of each root, as it lists them.
        trained: Which of all these have gradients.
        weights: What is due of each root's weights, by the `id` of its module.
        shards: Parameters spread over processes whose gradients are due, by the name of the gradient.
    """

    plan: StepPlan
    is_training: bool
    parameters: tuple[Named, ...]
    trained: tuple[bool, ...]
    weights: Mapping[int, list[tuple[str, nn.Parameter, Decision]]]
    shards: Mapping[str, nn.Parameter]

    def is_for(
        self, plan: StepPlan, is_training: bool, parameters: tuple[Named, ...], trained: tuple[bool, ...]
    ) -> bool:
        """Tell whether nothing has changed."""
        return (
            self.plan is plan
            and self.is_training == is_training
            and self.trained == trained
            and len(self.parameters) == len(parameters)
            and all(map(operator.is_, self.parameters, parameters))
        )


def _class_name(module: nn.Module) -> str:
    """Return the name of the class that the user wrote, also where sharding has put one of its own before it."""
    kind = type(module)
    bases = [base for base in kind.__bases__ if base.__name__ != "FSDPModule"]
    return bases[0].__name__ if len(bases) < len(kind.__bases__) and bases else kind.__name__


def _without_compiler(module: nn.Module) -> nn.Module:
    original = getattr(module, "_orig_mod", None)
    return original if isinstance(original, nn.Module) else module


def _compiled_call(module: nn.Module) -> Callable[..., Any] | None:
    """Return what a module compiled in place calls."""
    return getattr(module, "_compiled_call_impl", None)


class Hook(contextlib.ContextDecorator, BaseHook):
    """Captures tensors of a PyTorch job.

    Each forward pass of a registered model is one step. With `explicit_steps` a step ends where the script calls
    `step`, so that all the batches whose gradients are added up make one. Saved of a step are:

    * ``<Model>_<parameter path>``: parameters, as they are when the forward pass begins;
    * ``gradient/<parameter>``: the gradient of the last backward pass of the step, not what has accumulated;
    * ``<module path>_input_<i>``, ``<module path>_output_<i>``: positional inputs and the outputs of modules, numbered
      on if a module is called again within the step;
    * ``<Loss>_output_<i>``: outputs of registered losses.

    The model is touched only in steps that save something: on others the hook runs once per forward pass and counts.
    What activation checkpointing computes again in the backward pass is neither a step nor saved twice.

    As a decorator of a function the hook is closed when the function returns; later calls run without it.

    Args:
        args: As for `BaseHook`.
        explicit_steps: End steps where the script calls `step`.
        detect_losses: Save every single number on which the script calls ``backward`` as ``loss_output_<i>``, unless it
            is the output of a registered loss. With a gradient scaler that number is the scaled one.
        kwargs: As for `BaseHook`.
    """

    builtin_patterns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        CollectionKeys.DEFAULT: (),
        CollectionKeys.ALL: (),
        CollectionKeys.WEIGHTS: ("^(?!gradient).*weight",),
        CollectionKeys.BIASES: ("^(?!gradient).*bias",),
        CollectionKeys.GRADIENTS: ("^gradient",),
        CollectionKeys.LOSSES: ("[Ll]oss_(?!input).*output",),
    }
    collection_class: ClassVar[type[BaseCollection]] = Collection
    reduction_ddof: ClassVar[int] = 1

    def __init__(self, *args: Any, explicit_steps: bool = False, detect_losses: bool = False, **kwargs: Any) -> None:
        self.explicit_steps = explicit_steps
        """Whether a step ends when the script calls `step`, instead of with the next forward pass of a model."""
        self.mode_follows_model = False
        """Whether the mode of a step is TRAIN or EVAL as the model is, instead of what `set_mode` said last."""
        self._is_step_over = False
        self._has_told_of_compiled = False
        self._saved_roots: set[int] = set()
        self._detector = LossDetector(self._on_backward) if detect_losses else None
        self._captured_losses: list[weakref.ref[Tensor]] = []
        self._roots: list[_Root] = []
        self._gathered: tuple[str, ...] = ()
        self._gathering: Gathering | None = None
        self._shared: dict[int, tuple[_Root, str]] = {}  # parameters of several models: the first one, and its name
        self._handles: list[_Removable] = []
        self._watch: _Watch | None = None
        self._num_device_rows = 0
        self._watch_handles: list[_Removable] = []
        self._step_handles: list[_Removable] = []
        self._num_seen: dict[str, int] = {}
        self._tapped: dict[StepPlan, list[tuple[str, nn.Module]]] = {}
        super().__init__(*args, **kwargs)
        self._copies = CopyPool(self._memory_limit_bytes)
        if self._detector is not None:
            self._detector.attach()

    # --- what the script says -----------------------------------------------------------------------------------------

    def register_module(self, module: nn.Module) -> None:
        """Capture a model: from now on each of its forward passes is a step.

        Registering a model again changes nothing but writes a warning.

        Raises:
            SMDebugTypeError: It is no module.
            SMDebugValueError: It is a part of what is registered already, or the other way round. Models that share
                parts may be registered; shared parameters have the names that the first of these models gives.
        """
        if not isinstance(module, nn.Module):
            raise SMDebugTypeError(f"module must be a torch.nn.Module (got {module!r})")
        if not self._register(_Root(module, _class_name(_without_compiler(module)), is_model=True)):
            return
        if _compiled_call(module) is not None:
            self._handles.append(_CompiledCall(module, self._on_forward))
        else:
            # Before other hooks, such as those that gather what is sharded.
            self._handles.append(module.register_forward_pre_hook(Tap(self._on_forward), prepend=True))

    register_hook = register_module

    def register_loss(self, loss_module: nn.Module) -> None:
        """Capture the outputs of a loss.

        Registering a loss again changes nothing but writes a warning.

        Raises:
            SMDebugTypeError: It is no loss module; values of loss functions go to `record_tensor_value`.
            SMDebugValueError: It is registered already as a part of a model.
        """
        if not isinstance(loss_module, nn.Module):
            raise SMDebugTypeError(
                f"loss_module must be a torch.nn.Module (got {loss_module!r}); "
                "give the value of a loss function to record_tensor_value"
            )
        name = type(loss_module).__name__
        is_new = self._register(_Root(loss_module, name, is_model=False))
        if is_new and not self._collections.get(CollectionKeys.LOSSES).matches(f"{name}_output_0"):
            LOG.warning("%s_output_0 is no member of collection 'losses', whose patterns do not match it", name)

    def record_tensor_value(self, tensor_name: str, tensor_value: Tensor) -> None:
        """Save a tensor as ``<tensor_name>_output_<i>``, if a saved collection includes that name.

        For the value of a loss function give a name that ends in ``loss``, and it belongs to collection ``losses``.

        Raises:
            SMDebugTypeError: It is no tensor.
        """
        if not isinstance(tensor_value, Tensor):
            raise SMDebugTypeError(f"tensor_value must be a torch.Tensor (got {tensor_value!r})")
        self._record_outputs(tensor_name, tensor_value)

    @property
    def step(self) -> StepNumber:
        """Global step of the last step begun, -1 before the first; called, it ends that step.

        Ending steps is for hooks with `explicit_steps`: the forward passes since the last call are one step.
        """
        return StepNumber(self._last_step, self._end_step)

    def _end_step(self) -> None:
        if not self.explicit_steps:
            raise SMDebugRuntimeError(
                "step() must not be called on a hook whose steps are forward passes: set explicit_steps"
            )
        self._is_step_over = True

    def gather(self, *patterns: str) -> None:
        """Save tensors that are spread over processes (``DTensor``) as a whole, not in shards.

        It is the first worker that saves them. Needs the same call in all processes, also in those that save nothing,
        after the models have been registered and before the first step. Processes talk only at steps where one of these
        tensors is due.

        Args:
            patterns: Those in whose names one of these is found; gradients have names of their own.

        Raises:
            SMDebugRuntimeError: A step has begun already.
            SMDebugValueError: A pattern is no regular expression.
        """
        if self._last_step >= 0:
            raise SMDebugRuntimeError("gather() must be called before the first step")
        for pattern in patterns:
            compile_pattern(pattern, "gather()")
        self._gathered += patterns

    def begin_step(self, module: nn.Module) -> None:
        """Begin a step of a registered model whose forward pass the script does not start by calling the model."""
        self._on_forward(module, ())

    def count_parameters(self, model: nn.Module) -> int:
        """Return the number of parameters of a model that are trained."""
        return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)

    # --- what PyTorch calls -------------------------------------------------------------------------------------------

    @harmless
    def _on_forward(self, module: nn.Module, _: tuple[Any, ...]) -> None:
        if _is_in_backward():
            return
        if self.mode_follows_model:
            self.set_mode(ModeKeys.TRAIN if module.training else ModeKeys.EVAL)
        if self.explicit_steps and self._step is not None and not self._is_step_over:
            plan = self._current_plan()
            if plan:
                self._save_late_weights(plan, module)
            return
        self._is_step_over = False
        self._release_step()
        plan = self._begin_step(hand_over=False)
        try:
            if plan is None:
                self._unwatch()
                self._copies.rest()
            else:
                self._watch_step(module, plan)
        finally:
            self._hand_over()

    @harmless
    def _on_gradient(self, name: str, gradient: Tensor) -> None:
        if self._custom_tensors:
            self._save_custom_tensors()
        self._offer(name, gradient)

    @harmless
    def _on_module(self, name: str, module: nn.Module, inputs: tuple[Any, ...], outputs: Any) -> None:
        if _is_in_backward():
            return
        self._save_custom_tensors()
        self._offer_numbered(f"{name}_input", inputs)
        self._offer_numbered(f"{name}_output", outputs)
        if self._detector is not None and any(root.module is module and not root.is_model for root in self._roots):
            self._captured_losses += [weakref.ref(output) for output in _tensors_in(outputs)]

    @harmless
    def _on_backward(self, tensors: Iterable[Tensor]) -> None:
        for tensor in tensors:
            is_captured = any(captured() is tensor for captured in self._captured_losses)
            if tensor.numel() == 1 and not is_captured and self._accepts():
                self._offer_numbered("loss_output", tensor.detach())

    @harmless
    def _record_outputs(self, name: str, outputs: Any) -> None:
        if self._accepts():
            self._offer_numbered(f"{name}_output", outputs)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _register(self, root: _Root) -> bool:
        if any(known.module is root.module for known in self._roots):
            LOG.warning("a %s is registered already", root.name)
            return False
        for inner, outer in [(root, known) for known in self._roots] + [(known, root) for known in self._roots]:
            for name, module in outer.modules():
                if module is inner.plain:
                    raise SMDebugValueError(
                        f"module must not be registered together with a part of it "
                        f"({name!r} of a {outer.name} is the {inner.name} itself)"
                    )
        first = {
            id(parameter): (known, name) for known in reversed(self._roots) for name, parameter in known.parameters()
        }
        self._shared.update(
            (id(parameter), first[id(parameter)]) for _, parameter in root.parameters() if id(parameter) in first
        )
        self._roots.append(root)
        self._tapped.clear()
        self._unwatch()
        return True

    def _parameters(self, root: _Root) -> Named:
        """Return the parameters of a model; what it shares with others has the name that the first of these gives."""
        named = root.parameters()
        if not self._shared:
            return named
        return [(self._shared.get(id(parameter), (root, name))[1], parameter) for name, parameter in named]

    def _watch_step(self, module: nn.Module, plan: StepPlan) -> None:
        """Save what is due at the beginning of a step, and have the rest captured as it comes."""
        self._saved_roots = {id(module)}
        parameters = tuple([root.parameters() for root in self._roots])
        trained = tuple([parameter.requires_grad for named in parameters for _, parameter in named])
        is_training = self.mode not in (ModeKeys.EVAL, ModeKeys.PREDICT)
        if self._watch is None or not self._watch.is_for(plan, is_training, parameters, trained):
            self._unwatch()
            self._watch = self._begin_watch(plan, is_training, parameters, trained)
        if self._watch.shards:
            self._save_shards_before_update(self._watch.shards)
        if self._gathering is not None:
            self._save_wholes(self._gathering, plan)
        self._save_weights(self._watch.weights.get(id(module), ()))

    def _begin_watch(
        self, plan: StepPlan, is_training: bool, parameters: tuple[Named, ...], trained: tuple[bool, ...]
    ) -> _Watch:
        """Have gradients, inputs and outputs captured, from now on until `_unwatch`."""
        weights = {}
        shards = {}
        for root in self._roots:
            named = self._parameters(root)
            weights[id(root.module)] = self._due(plan, named)
            for name, parameter in named if is_training else ():
                if id(parameter) in self._shared and self._shared[id(parameter)][0] is not root:
                    continue  # its gradient has been dealt with
                gradient = f"gradient/{name}"
                if parameter.requires_grad and self._is_own(gradient) and plan.decide(gradient) is not None:
                    self._watch_handles.append(parameter.register_hook(Tap(self._on_gradient, gradient)))  # type: ignore[no-untyped-call]
                    if is_sharded(parameter):
                        shards[gradient] = parameter
        if not self._is_helper:
            self._watch_modules(plan)
        return _Watch(plan, is_training, parameters, trained, weights, shards)

    def _due(self, plan: StepPlan, named: Named) -> list[tuple[str, nn.Parameter, Decision]]:
        """Return the parameters that this process saves, and what of each."""
        decided = [(name, parameter, plan.decide(name)) for name, parameter in named if self._is_own(name)]
        return [(name, parameter, decision) for name, parameter, decision in decided if decision is not None]

    def _is_own(self, name: str) -> bool:
        """Tell whether this process saves what it has of a tensor, instead of handing it to the first worker."""
        return not self._is_helper and (self._gathering is None or name not in self._gathering.names)

    def _save_wholes(self, gathering: Gathering, plan: StepPlan) -> None:
        """Have the tensors gathered that are due: weights now, gradients as the optimizer finds them.

        Whether anything is exchanged depends on nothing that is another process's own.
        """
        named = {name: parameter for root in self._roots for name, parameter in self._parameters(root)}
        due = {name for name in gathering.names if plan.decide(name) is not None}
        gradients = {name for name in due if name.startswith("gradient/")}
        if due - gradients:
            self._gather(gathering, plan, {name: named[name] for name in due - gradients if name in named})
        if not gradients or self.mode in (ModeKeys.EVAL, ModeKeys.PREDICT):
            return
        owners = {name: named[bare] for name in gradients if (bare := name.removeprefix("gradient/")) in named}

        @harmless
        def on_update(self: Hook, optimizer: Optimizer) -> None:
            updated = _updated_by(optimizer)
            found = {
                name: owner.grad for name, owner in owners.items() if owner.grad is not None and id(owner) in updated
            }
            self._gather(gathering, plan, found)

        self._step_handles.append(register_optimizer_step_pre_hook(lambda optimizer, *_: on_update(self, optimizer)))

    def _gather(self, gathering: Gathering, plan: StepPlan, shards: Mapping[str, Tensor]) -> None:
        """Save tensors as a whole, if this is the first worker; a failure ends gathering, not saving."""
        try:
            wholes = gathering.gather(shards)
        except (RuntimeError, ValueError):  # a process is gone, or the script has ended its groups
            if self.strict:
                raise
            LOG.exception("tensors are no longer gathered")
            gathering.stop()
            return
        for name, whole in wholes.items():
            decision = plan.decide(name)
            if decision is not None:
                self._save(name, whole, decision)

    def _unwatch(self) -> None:
        """Take off the model what captures gradients, inputs and outputs."""
        for handle in self._watch_handles:
            handle.remove()
        self._watch_handles.clear()
        self._watch = None

    def _save_late_weights(self, plan: StepPlan, module: nn.Module) -> None:
        """Save the parameters of a model that runs for the first time in a step that another model has begun."""
        if id(module) in self._saved_roots:
            return
        self._saved_roots.add(id(module))
        for root in self._roots:
            if root.module is module:
                self._save_weights(self._due(plan, self._parameters(root)))

    def _save_weights(self, weights: Iterable[tuple[str, nn.Parameter, Decision]]) -> None:
        """Save parameters, those that PyTorch has to copy in one go."""
        others = []
        for name, parameter, decision in weights:
            value = self._find_numbers(name, parameter)
            if isinstance(value, Tensor):
                others.append((name, as_dense(value), decision))
            elif value is not None:
                self._save(name, value, decision)
        copies = iter(self._copies.copy_all([value for _, value, decision in others if decision.value]))
        now = time.time()
        for name, value, decision in others:
            taken = Captured(next(copies), now) if decision.value else None
            self._save(name, value, decision, taken)

    def _save_shards_before_update(self, gradients: Mapping[str, nn.Parameter]) -> None:
        """Save gradients that a sharding library hands to the optimizer without a backward hook on the parameter."""
        waiting = dict(gradients)

        @harmless
        def on_update(self: Hook, optimizer: Optimizer) -> None:
            updated = _updated_by(optimizer)
            for name in [name for name, parameter in waiting.items() if id(parameter) in updated]:
                gradient = waiting.pop(name).grad
                if gradient is not None and self._step is not None and not self._step.has(name):
                    self._offer(name, gradient)

        self._step_handles.append(register_optimizer_step_pre_hook(lambda optimizer, *_: on_update(self, optimizer)))

    def _watch_modules(self, plan: StepPlan) -> None:
        """Have the inputs and outputs that are due captured."""
        if plan not in self._tapped:
            named = {id(module): (name, module) for root in reversed(self._roots) for name, module in root.modules()}
            wanted = [(name, module) for name, module in named.values() if _may_select(plan, name)]
            compiled = set().union(*(root.compiled_modules() for root in self._roots))
            left_out = [name for name, module in wanted if id(module) in compiled]
            if left_out and not self._has_told_of_compiled:
                self._has_told_of_compiled = True
                LOG.warning(
                    "inputs and outputs inside compiled code are not saved: %s; everything else is", ", ".join(left_out)
                )
            self._tapped[plan] = [(name, module) for name, module in wanted if id(module) not in compiled]
        for name, module in self._tapped[plan]:
            self._watch_handles.append(module.register_forward_hook(Tap(self._on_module, name)))

    def _watch_loss(self, loss_module: nn.Module) -> None:
        """Have a loss captured that was registered in the middle of a step."""
        plan = self._current_plan()
        name = type(loss_module).__name__
        if plan and _may_select(plan, name):
            self._watch_handles.append(loss_module.register_forward_hook(Tap(self._on_module, name)))

    def _offer_numbered(self, prefix: str, values: Any) -> None:
        for value in _tensors_in(values):
            index = self._num_seen.get(prefix, 0)
            self._num_seen[prefix] = index + 1
            self._offer(f"{prefix}_{index}", value)

    def _release_step(self) -> None:
        """Forget what was noted of a step for that step alone."""
        for handle in self._step_handles:
            handle.remove()
        self._step_handles.clear()
        self._num_seen.clear()
        self._captured_losses.clear()

    # --- what BaseHook asks -------------------------------------------------------------------------------------------

    def _find_worker(self) -> Worker:
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return Worker(f"worker_{torch.distributed.get_rank()}", torch.distributed.get_world_size())
        return _find_peer() or Worker(CHIEF, 1)

    def _helps_others(self) -> bool:
        return bool(self._gathered) and torch.distributed.is_available() and torch.distributed.is_initialized()

    def _agree_on_steps(self, last_steps: Mapping[ModeKeys, int]) -> Mapping[ModeKeys, int]:
        if not self._helps_others():
            return last_steps
        sharded = [name for root in self._roots for name, parameter in self._parameters(root) if is_sharded(parameter)]
        self._gathering = Gathering(self._gathered, [*sharded, *(f"gradient/{name}" for name in sharded)])
        everyones: list[Mapping[ModeKeys, int]] = self._gathering.tell_all(dict(last_steps))
        return {mode: max(some.get(mode, -1) for some in everyones) for mode in set().union(*everyones)}

    def _is_step_complete(self) -> bool:
        return self.explicit_steps and self._is_step_over

    def _before_plan(self) -> None:
        names = {id(module): name for root in reversed(self._roots) for name, module in root.modules()}
        for collection in self._collections:
            if isinstance(collection, Collection):
                collection.resolve_modules(names)
        self._tapped.clear()

    def _copy_value(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and is_plain(value):
            return self._copies.copy_array(value)
        return self._copies.copy(as_dense(value)) if isinstance(value, Tensor) else super()._copy_value(value)

    def _view(self, value: Any) -> Array:
        return tensor_to_array(as_dense(value)) if isinstance(value, Tensor) else super()._view(value)

    def _to_array(self, value: Any) -> Array:
        return tensor_to_array(value) if isinstance(value, Tensor) else super()._to_array(value)

    def _reduce(self, value: Any, reductions: Iterable[Reduction]) -> Iterable[tuple[Reduction, Any]]:
        if isinstance(value, np.ndarray) and is_plain(value) and value.flags.writeable:
            value = torch.from_numpy(value)
        return reduce_tensor(value, reductions) if isinstance(value, Tensor) else super()._reduce(value, reductions)

    def _save_reductions(
        self, step: OpenStep, name: str, value: Any, reductions: tuple[Reduction, ...], now: float
    ) -> None:
        if isinstance(value, Borrowed):
            value = value.to_array()
        if isinstance(value, Tensor) and self._reduce_on_device(step, name, value, reductions, now):
            return
        if isinstance(value, np.ndarray) and value.dtype.char in "ef" and value.size <= SMALL:
            step.small[name] = ToReduce(Captured(self._copies.copy_array(value), now), reductions)
            return
        if isinstance(value, np.ndarray) and value.dtype.char in "efd" and value.flags.writeable:
            value = torch.from_numpy(value)
        if isinstance(value, Tensor) and value.device.type == "cpu" and value.is_floating_point():
            dense = as_dense(value)
            if dense.element_size() < 4:
                dense = dense.to(torch.float32)
            with contextlib.suppress(NeedsCareError):
                if can_summarise(dense):
                    summary = Summary(dense, reductions)
                    values = [summary.value(reduction) for reduction in reductions]
                    step.numbers[name] = Numbers(reduction_names(name, reductions), values, _DTYPES[dense.dtype], now)
                    return
        super()._save_reductions(step, name, value, reductions, now)

    def _save_statistics(self, step: OpenStep, name: str, value: Any, now: float) -> None:
        batch = self._device_batch(step, value) if isinstance(value, Tensor) else None
        single = tuple([Reduction(each) for each in self.statistics if each != "histogram"])
        if batch is None or not batch.can_summarise(value, single):
            super()._save_statistics(step, name, value, now)
            return
        bare = without_output_number(name)
        names = tuple([reduction_tensor_name(statistic, False, bare) for statistic, _ in single])
        batch.summarise(name, as_dense(value), single, now, names)
        if len(single) < len(self.statistics):
            for statistic, number in compute_statistics(self._view(value), ("histogram",)).items():
                step.tensors[reduction_tensor_name(statistic, False, bare)] = Captured(number, now)

    def _reduce_on_device(
        self, step: OpenStep, name: str, value: Tensor, reductions: tuple[Reduction, ...], now: float
    ) -> bool:
        """Have a device reduce a tensor that lies there, and tell whether that was possible."""
        batch = self._device_batch(step, value)
        if batch is None:
            return False
        if batch.can_summarise(value, reductions):
            batch.summarise(name, as_dense(value), reductions, now)
            return True
        found = list(reduce_tensor(value, reductions))
        if any(number.dtype is not torch.float32 for _, number in found):
            return False
        names = reduction_names(name, reductions)
        for reduction, number in found:
            batch.add(names[reductions.index(reduction)], number, now)
        return True

    def _device_batch(self, step: OpenStep, value: Tensor) -> DeviceBatch | None:
        """Return what collects the reductions of a tensor's device; None if that is the CPU."""
        if not self._is_on_device(value):
            return None
        for some in step.deferred:
            if isinstance(some, DeviceBatch) and some.device == value.device:
                return some
        batch = DeviceBatch(value.device, find_kernels(value.device), self._num_device_rows)
        step.deferred.append(batch)
        return batch

    def _is_on_device(self, value: Tensor) -> bool:
        return value.is_cuda

    def _finish_step(self) -> None:
        for some in self._step.deferred if self._step is not None else ():
            if isinstance(some, DeviceBatch):
                self._num_device_rows = max(self._num_device_rows, some.num_rows)
            some.send()
        super()._finish_step()

    def _offer(self, name: str, value: Any) -> None:
        plan = self._current_plan()
        decision = None if plan is None else plan.decide(name)
        if decision is None:
            return
        numbers = self._find_numbers(name, value)
        if numbers is not None:
            self._save(name, numbers, decision)

    def _find_numbers(self, name: str, value: Tensor) -> Tensor | Array | None:
        """Return what this process holds of a tensor; None if that is nothing it can read.

        Of a sharded tensor this is the process's own shard; the shape of the whole is saved beside it.
        """
        array = plain_array(value)
        if array is not None:
            return array
        if is_sharded(value):
            if self._step is not None:
                self._step.shapes[name] = tuple(value.shape)
            value = local_shard(value)
        if can_capture(value):
            return value
        LOG.debug("%s is not saved: a %s of layout %s", name, type(value).__name__, value.layout)
        return None

    def _end(self) -> None:
        super()._end()
        self._copies.clear()

    def _detach(self) -> None:
        self._release_step()
        self._unwatch()
        if self._detector is not None:
            self._detector.detach()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._roots.clear()
        self._shared.clear()
        self._tapped.clear()


class _CompiledCall:
    """Has a function called before a module that is compiled in place; tracing a hook would break its graph.

    Args:
        module: The module.
        function: Called with the module and its positional arguments.
    """

    def __init__(self, module: nn.Module, function: Callable[..., Any]) -> None:
        self._module = module
        self._compiled = compiled = _compiled_call(module)
        assert compiled is not None

        def call(*args: Any, **kwargs: Any) -> Any:
            function(module, args)
            return compiled(*args, **kwargs)

        self._call = call
        module._compiled_call_impl = call  # noqa: SLF001 - what the module calls instead of its hooks

    def remove(self) -> None:
        """Restore the module."""
        if _compiled_call(self._module) is self._call:
            self._module._compiled_call_impl = self._compiled  # noqa: SLF001


class StepNumber(int):
    """The number of a step, which scripts read, and which ends the step when called."""

    _end: Callable[[], None]

    def __new__(cls, number: int, end: Callable[[], None]) -> StepNumber:
        """Make the number of a step that `end` ends."""
        made = super().__new__(cls, number)
        made._end = end
        return made

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)  # a checkpoint that holds the number does not hold the hook

    def __call__(self) -> None:
        """End the step: the next forward pass of a model begins another one."""
        self._end()


_CURRENT_BACKWARD: Final = getattr(torch._C, "_current_graph_task_id", None)  # noqa: SLF001 - there is no public way


def _is_in_backward() -> bool:
    """Tell whether a backward pass runs on this thread; modules that run in it compute again what was dropped."""
    return _CURRENT_BACKWARD is not None and _CURRENT_BACKWARD() != -1


def _find_peer() -> Worker | None:
    """Ask the libraries for distributed training that the script has loaded, but never load one."""
    for name in ("horovod.torch", "smdistributed.dataparallel.torch.distributed"):
        library = sys.modules.get(name)
        if library is None:
            continue
        is_ready = getattr(library, "is_initialized", None)
        rank = getattr(library, "rank", None) or getattr(library, "get_rank", None)
        size = getattr(library, "size", None) or getattr(library, "get_world_size", None)
        if rank is not None and size is not None and (is_ready is None or is_ready()):
            return Worker(f"worker_{rank()}", size())
    return None


def _updated_by(optimizer: Optimizer) -> set[int]:
    """Return the `id` of every parameter that an optimizer updates; a script may have several optimizers."""
    return {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}


def _may_select(plan: StepPlan, module_name: str) -> bool:
    """Tell whether a plan may save any input or output of a module."""
    return any(plan.selects(f"{module_name}_{kind}_{i}") for kind in ("output", "input") for i in plan.indices)


def _tensors_in(values: Any) -> Iterator[Tensor]:
    """Yield the tensors in nested tuples, lists, mappings and dataclasses; subclasses of Tensor are passed over."""
    if type(values) is Tensor:
        yield values
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from _tensors_in(value)
    elif isinstance(values, Mapping):
        yield from _tensors_in(list(values.values()))
    elif dataclasses.is_dataclass(values) and not isinstance(values, type):
        yield from _tensors_in([getattr(values, field.name) for field in dataclasses.fields(values)])


def get_hook(json_config_path: str | None = None, create_if_not_exists: bool = False) -> Hook | None:
    """Return the hook of this process.

    Args:
        json_config_path: The hook configuration file to create it from; None means SageMaker's.
        create_if_not_exists: Create it from that file if there is none.

    Returns:
        None if there is no hook, if the file is missing, or if the environment variable ``USE_SMDEBUG`` says no.
    """
    return current.get_hook(Hook, json_config_path, create_if_not_exists)


def set_hook(hook: Hook) -> None:
    """Make `hook` the hook of this process.

    Raises:
        SMDebugTypeError: It is no PyTorch hook.
    """
    current.set_hook(hook, Hook)
