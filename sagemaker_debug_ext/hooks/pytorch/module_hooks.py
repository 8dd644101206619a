"""Attach hooks to registered modules in steps that save something, and reuse them while they stay the same."""

from __future__ import annotations

import contextlib
import logging
import operator
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import attrs
from torch import jit, nn

from sagemaker_debug_ext.hooks.capture.save_plan import SaveDecision, StepPlan
from sagemaker_debug_ext.hooks.pytorch.distributed import is_sharded
from sagemaker_debug_ext.hooks.pytorch.registration import ModuleRegistry, Named, RegisteredModule
from sagemaker_debug_ext.hooks.pytorch.torch_compile import CompiledCall, compiled_call, is_recording

LOG = logging.getLogger(__name__)

_HOOKS: Final = "_backward_hooks"
"""Attribute in which a parameter keeps its hooks; None until the first is registered."""

Due: TypeAlias = list[tuple[str, nn.Parameter, SaveDecision]]
"""Parameters to save, with the decision for each."""


class Removable(Protocol):
    """The handle that PyTorch returns for a registered callback."""

    def remove(self) -> None:
        """Remove the callback."""


@attrs.frozen(eq=False)
class CaptureSet:
    """Parameters and modules captured in steps that share a plan and the same models.

    Args:
        parameters: The parameters of each root, as it lists them.
        trained: Which of all these have gradients.
        weights: What is due of each root's weights, by the `id` of its module.
        gradients: Parameters whose gradients are due, by the names of these.
        shards: Those among them that are spread over processes.
        modules: Modules of which something may be due, and their names.
    """

    parameters: tuple[Named, ...]
    trained: tuple[bool, ...]
    weights: Mapping[int, Due]
    gradients: Mapping[str, nn.Parameter]
    shards: Mapping[str, nn.Parameter]
    modules: Sequence[tuple[str, nn.Module]]

    def is_for(self, parameters: tuple[Named, ...], trained: tuple[bool, ...]) -> bool:
        """Return whether the models are unchanged."""
        return (
            self.trained == trained
            and len(self.parameters) == len(parameters)
            and all(map(operator.is_, self.parameters, parameters))
        )


class ModuleHooks:
    """Captures the gradients, inputs and outputs that are due.

    Args:
        roots: The registered models and losses.
        is_own: Returns whether this process saves its own part of the tensor of a name.
        on_gradient: Called with the name and the value of each gradient that is due.
        on_module: Called with the name of each module of which something may be due, the module, its inputs and its
            outputs.
    """

    def __init__(
        self,
        roots: ModuleRegistry,
        is_own: Callable[[str], bool],
        on_gradient: Callable[..., object],
        on_module: Callable[..., object],
    ) -> None:
        self._roots = roots
        self._is_own = is_own
        self._on_gradient = on_gradient
        self._on_module = on_module
        self._watch: CaptureSet | None = None
        self._known: dict[tuple[StepPlan, bool, bool], CaptureSet] = {}
        self._handles: list[Removable] = []
        self._without_hooks: list[weakref.ref[nn.Parameter]] = []
        self._has_told_of_compiled = False

    @property
    def gradients(self) -> Mapping[str, nn.Parameter]:
        """Parameters whose gradients are captured at this step, by the names of these."""
        return {} if self._watch is None else self._watch.gradients

    def begin(self, plan: StepPlan, is_training: bool, with_modules: bool) -> CaptureSet:
        """Attach the hooks that capture the due tensors until `stop`.

        Args:
            plan: What is due.
            is_training: Whether the step is of a mode that has gradients.
            with_modules: Whether this process saves inputs and outputs.
        """
        parameters = tuple([root.parameters() for root in self._roots])
        trained = tuple([parameter.requires_grad for named in parameters for _, parameter in named])
        watch = self._known.get((plan, is_training, with_modules))
        if watch is None or not watch.is_for(parameters, trained):
            weights = {id(root.module): self.weights_due(plan, root) for root in self._roots}
            gradients = self._gradients_due(plan) if is_training else {}
            shards = {name: parameter for name, parameter in gradients.items() if is_sharded(parameter)}
            modules = self._modules_due(plan) if with_modules else []
            watch = CaptureSet(parameters, trained, weights, gradients, shards, modules)
            self._known[plan, is_training, with_modules] = watch
        if watch is not self._watch:
            self.stop()
            self._watch = watch
            for name, parameter in watch.gradients.items():
                if getattr(parameter, _HOOKS) is None:
                    self._without_hooks.append(weakref.ref(parameter))
                self._handles.append(parameter.register_hook(HookCallback(self._on_gradient, name)))  # type: ignore[no-untyped-call]
            for name, module in watch.modules:
                self._tap(name, module)
        return watch

    def stop(self) -> None:
        """Remove the hooks for gradients, inputs and outputs from the model."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._watch = None

    def end(self) -> None:
        """Remove the hooks as `stop` does, and restore the parameters."""
        self.stop()
        for reference in self._without_hooks:
            parameter = reference()
            if parameter is not None and not getattr(parameter, _HOOKS):
                setattr(parameter, _HOOKS, None)
        self._without_hooks.clear()

    def forget_plans(self) -> None:
        """Drop the cached capture sets, because modules or collections have changed."""
        self._known.clear()

    def watch_late(self, plan: StepPlan, root: RegisteredModule) -> None:
        """Capture modules that were registered in the middle of a step."""
        if plan.may_select_of(root.name):
            self._tap(root.name, root.module)

    def weights_due(self, plan: StepPlan, root: RegisteredModule) -> Due:
        """Return the parameters of a model that this process saves, with the decision for each."""
        named = self._roots.parameters_of(root)
        decided = [(name, parameter, plan.decide(name)) for name, parameter in named if self._is_own(name)]
        return [(name, parameter, decision) for name, parameter, decision in decided if decision is not None]

    def _gradients_due(self, plan: StepPlan) -> dict[str, nn.Parameter]:
        """Return the parameters whose gradients this process saves, by the names of these."""
        due = {}
        for root in self._roots:
            for name, parameter in self._roots.parameters_of(root):
                if not self._roots.is_named_by(root, parameter):
                    continue  # its gradient is dealt with where it has its name from
                gradient = f"gradient/{name}"
                if parameter.requires_grad and self._is_own(gradient) and plan.decide(gradient) is not None:
                    due[gradient] = parameter
        return due

    def _modules_due(self, plan: StepPlan) -> list[tuple[str, nn.Module]]:
        """Return the modules whose inputs or outputs may be due."""
        wanted = [(name, module) for name, module in self._roots.modules().values() if plan.may_select_of(name)]
        hidden = self._roots.compiled_submodules()
        left_out = [name for name, module in wanted if id(module) in hidden]
        if left_out and not self._has_told_of_compiled:
            self._has_told_of_compiled = True
            LOG.warning(
                "inputs and outputs inside compiled code are not saved: %s; everything else is", ", ".join(left_out)
            )
        return [(name, module) for name, module in wanted if id(module) not in hidden]

    def _tap(self, name: str, module: nn.Module) -> None:
        tap = HookCallback(self._on_module, name)
        self._handles.append(
            module.register_forward_hook(tap, with_kwargs=True)
            if compiled_call(module) is None
            else CompiledCall.of(module).after(tap)
        )


class HookCallback:
    """Module-hook callback that is a no-op in copies, in pickles and while the model is recorded.

    Otherwise code from `torch.compile` and `torch.jit.trace` would call it or contain its effects.

    Args:
        function: What to call.
        first: Arguments to put before those of the call.
    """

    def __init__(self, function: Callable[..., Any], *first: Any) -> None:
        self._function = function
        self._first = first

    def __call__(self, *arguments: Any) -> None:
        """Call the function and ignore its result."""
        if not is_recording():
            self._function(*self._first, *arguments)

    def __deepcopy__(self, _: dict[int, Any]) -> Callable[..., None]:
        return _stand_in()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return getattr, (contextlib.nullcontext(), "__exit__")


def _stand_in() -> Callable[..., None]:
    """Return a function of the standard library that takes anything and does nothing.

    A stored model may be loaded without this package.
    """
    return contextlib.nullcontext().__exit__


def is_noop_callback(function: object) -> bool:
    """Return whether a function replaces a `HookCallback` in copies of a module."""
    return getattr(function, "__func__", None) is contextlib.nullcontext.__exit__


_PREPARE: Final = "__prepare_scriptable__"
"""The method by which a module returns the module to compile in its place."""

_REGISTERED: Final = ("_forward_pre_hooks", "_forward_hooks")

_attached: Final[set[Scripting]] = set()


class Scripting:
    """Adds that method to modules between `attach` and `detach`, except to modules that define it."""

    def attach(self) -> None:
        """Begin."""
        if not _attached and not hasattr(nn.Module, _PREPARE):
            setattr(nn.Module, _PREPARE, _without_taps)
        _attached.add(self)

    def detach(self) -> None:
        """Remove the method, unless another model still needs it."""
        _attached.discard(self)
        if not _attached and vars(nn.Module).get(_PREPARE) is _without_taps:
            delattr(nn.Module, _PREPARE)


def _without_taps(module: nn.Module) -> nn.Module:
    """Return a module that shares everything with `module` but what we have registered with it.

    ``torch.jit`` puts what it gets for each module in the place of that module, in what contains it. So the module must
    not be its own stand-in if there is a tap on any of its parts.
    """
    if isinstance(module, jit.ScriptModule) or not any(map(_is_tapped, module.modules())):
        return module
    bare: nn.Module = object.__new__(type(module))
    bare.__dict__.update(module.__dict__)
    bare.__dict__["_modules"] = module._modules.copy()  # noqa: SLF001 - it is changed in place
    for name in _REGISTERED:
        functions: OrderedDict[int, Any] = module.__dict__[name]
        bare.__dict__[name] = OrderedDict(
            (key, function) for key, function in functions.items() if not _is_ours(function)
        )
    return bare


def _is_tapped(module: nn.Module) -> bool:
    return any(_is_ours(function) for name in _REGISTERED for function in getattr(module, name).values())


def _is_ours(function: Any) -> bool:
    return isinstance(function, HookCallback) or is_noop_callback(function)
