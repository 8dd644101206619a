"""`OverridableCallbacks`: the callbacks of smdebug's PyTorch hook, which subclasses in scripts override."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor, nn

from sagemaker_debug_ext.hooks.fail_safe import fail_safe
from sagemaker_debug_ext.hooks.pytorch.capture import TensorHook
from sagemaker_debug_ext.hooks.pytorch.module_hooks import HookCallback, Removable
from sagemaker_debug_ext.hooks.pytorch.registration import ModuleRegistry, RegisteredModule
from sagemaker_debug_ext.hooks.pytorch.torch_compile import CompiledCall, compiled_call

NO_BACKWARD: Final = -1
current_backward: Final[Callable[[], int]] = getattr(torch._C, "_current_graph_task_id", lambda: NO_BACKWARD)  # noqa: SLF001 - PyTorch has no public function
"""Returns the number of the backward pass on this thread; modules called during it recompute dropped activations."""


class OverridableCallbacks(TensorHook):
    """Calls `forward_pre_hook`, `forward_hook` and `backward_hook` of a subclass that overrides them.

    A hook whose class overrides none of them attaches nothing for them. An overridden one replaces what the hook itself
    would capture there, as in smdebug, unless it calls ``super()``. It is called at every forward pass, also at steps
    that save nothing; what it writes is saved if a collection asks for it.

    The hook sets the attributes.
    """

    _roots: ModuleRegistry
    _handles: list[Removable]
    _on_forward: Callable[..., Any]
    _on_gradient: Callable[..., Any]

    def forward_pre_hook(self, module: nn.Module, inputs: Any) -> None:
        """Begin a step; called before each forward pass of a registered model."""
        self._on_forward(module, inputs)

    def forward_hook(self, module: nn.Module, inputs: Any, outputs: Any) -> None:
        """Save inputs and outputs of a module; called after its forward pass."""
        name = self.module_maps[module]
        self._write_inputs(name, inputs)
        self._write_outputs(name, outputs)

    def backward_hook(self, tname: str) -> Callable[[Tensor], None]:
        """Return a callback for `Tensor.register_hook` that saves a gradient as ``gradient/<tname>``."""
        return HookCallback(self._on_gradient, f"gradient/{tname}")

    @property
    def module_maps(self) -> dict[nn.Module, str]:
        """Module → name, for all modules of the registered models and losses."""
        return {module: name for name, module in self._roots.modules().values()}

    def _write_inputs(self, name: str, inputs: Any) -> None:
        """Save the inputs of a module if a collection asks for them."""
        if not self._role.is_helper:
            self._offer_numbered(f"{name}_input", inputs)

    def _write_outputs(self, name: str, outputs: Any) -> None:
        """Save the outputs of a module if a collection asks for them."""
        if not self._role.is_helper:
            self._offer_numbered(f"{name}_output", outputs)

    def _overrides(self, name: str) -> bool:
        """Return whether the class of the hook overrides a callback."""
        return getattr(type(self), name) is not getattr(OverridableCallbacks, name)

    def _attach_overridden(self, root: RegisteredModule) -> None:
        """Attach the overridden callbacks to a model or a loss."""
        if self._overrides("forward_hook"):
            for _, module in root.modules():
                callback = HookCallback(self._call_forward_hook)
                self._handles.append(
                    module.register_forward_hook(callback)
                    if compiled_call(module) is None
                    else CompiledCall.of(module).after(HookCallback(self._call_forward_hook_of_compiled))
                )
        if self._overrides("backward_hook"):
            for name, parameter in self._roots.parameters_of(root):
                if parameter.requires_grad and self._roots.is_named_by(root, parameter):
                    callback = HookCallback(self._guarded(self.backward_hook(name)))
                    self._handles.append(parameter.register_hook(callback))  # type: ignore[no-untyped-call]

    @fail_safe
    def _call_forward_pre_hook(self, module: nn.Module, inputs: Any) -> None:
        self.forward_pre_hook(module, inputs)

    @fail_safe
    def _call_forward_hook(self, module: nn.Module, inputs: Any, outputs: Any) -> None:
        if self._lifecycle.is_active() and current_backward() == NO_BACKWARD:
            self.forward_hook(module, inputs, outputs)

    def _call_forward_hook_of_compiled(self, module: nn.Module, inputs: Any, _: dict[str, Any], outputs: Any) -> None:
        self._call_forward_hook(module, inputs, outputs)

    def _guarded(self, callback: Callable[[Tensor], Any]) -> Callable[[Tensor], None]:
        """Return a callback of a subclass whose errors stay out of training."""

        def call(gradient: Tensor) -> None:
            self._call_with_gradient(callback, gradient)

        return call

    @fail_safe
    def _call_with_gradient(self, callback: Callable[[Tensor], Any], gradient: Tensor) -> None:
        if self._lifecycle.is_active():
            callback(gradient)
