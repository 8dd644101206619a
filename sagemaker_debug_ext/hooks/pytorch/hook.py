"""The PyTorch hook: weights, gradients, losses, module inputs and outputs."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from torch import Tensor, nn
from torch.optim.optimizer import Optimizer

from sagemaker_debug_ext.config.hook_options import to_flag
from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugTypeError, brief
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.capture.save_plan import StepPlan
from sagemaker_debug_ext.hooks.fail_safe import fail_safe, never_into_script, run_all, script_call, script_query
from sagemaker_debug_ext.hooks.output.trial_output import Worker
from sagemaker_debug_ext.hooks.program.pytorch import TorchProgram, loss_arguments
from sagemaker_debug_ext.hooks.pytorch.collections import Collection
from sagemaker_debug_ext.hooks.pytorch.distributed import find_worker
from sagemaker_debug_ext.hooks.pytorch.full_tensors import FullTensorSaver
from sagemaker_debug_ext.hooks.pytorch.loss_detector import LossDetector
from sagemaker_debug_ext.hooks.pytorch.module_hooks import HookCallback, ModuleHooks, Removable, Scripting
from sagemaker_debug_ext.hooks.pytorch.optimizer_hooks import OptimizerHooks
from sagemaker_debug_ext.hooks.pytorch.overridable import NO_BACKWARD, OverridableCallbacks, current_backward
from sagemaker_debug_ext.hooks.pytorch.registration import ModuleRegistry, RegisteredModule
from sagemaker_debug_ext.hooks.pytorch.tensors import flatten_tensors
from sagemaker_debug_ext.hooks.pytorch.torch_compile import CompiledCall, compiled_call, unwrap_compiled
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

LOG = logging.getLogger(__name__)


class Hook(contextlib.ContextDecorator, OverridableCallbacks):
    """Captures tensors of a PyTorch job.

    Each forward pass of a registered model is one step. With `explicit_steps` a step ends where the script calls
    `step`, so that all batches whose gradients accumulate form one step. A step saves:

    * ``<Model>_<parameter path>``: parameters, as they are when the forward pass begins;
    * ``gradient/<parameter>``: the gradient of the last backward pass of the step, not what has accumulated; with
      `explicit_steps` that of the last one before an optimizer uses it, if that is not compiled;
    * ``<module path>_input_<i>``, ``<module path>_output_<i>``: inputs of modules, positional ones first, and outputs,
      numbered on if a module is called again within the step;
    * ``<Loss>_output_<i>``: outputs of registered losses.

    Of several models of one class the later ones have a number behind it, ``<Model>_1``. Where modules of two models
    have the same path, those of the later one are called ``<Model>.<module path>``.

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

    model_hint: ClassVar[str] = "call hook.register_module(model) before training"
    loss_hint: ClassVar[str] = (
        "call hook.register_loss(loss_function), pass the value of another loss to hook.record_tensor_value(), or "
        "create the hook with detect_losses=True"
    )

    def __init__(self, *args: Any, explicit_steps: bool = False, detect_losses: bool = False, **kwargs: Any) -> None:
        self.explicit_steps = to_flag(explicit_steps, "explicit_steps")
        """Whether a step ends when the script calls `step`, instead of with the next forward pass of a model."""
        self.mode_follows_model = False
        """Whether the mode of a step is TRAIN or EVAL as the model is, instead of what `set_mode` said last."""
        self._is_step_over = False
        self._saved_roots: set[int] = set()
        self._detector = self._make_detector() if to_flag(detect_losses, "detect_losses") else None
        self._roots = ModuleRegistry()
        self._watching = ModuleHooks(self._roots, self._is_own, self._on_gradient, self._on_module)
        self._full_tensors = FullTensorSaver(self._roots, self._save)
        self._handles: list[Removable] = []
        self._optimizers = OptimizerHooks(self._on_update, self._on_updated)
        self._program = TorchProgram()
        self._scripting = Scripting()
        self._has_told_of_methods = False
        super().__init__(*args, **kwargs)
        if self._detector is not None:
            self._detector.attach()

    # --- called by the script -----------------------------------------------------------------------------------------

    @script_call
    def register_module(self, module: nn.Module) -> None:
        """Capture a model: from now on each of its forward passes is a step.

        Registering a model again changes nothing but writes a warning.

        Raises:
            SMDebugTypeError: It is no module, or one that ``torch.jit`` has compiled.
            SMDebugValueError: It is a part of what is registered already, or the other way round. Models that share
                parts may be registered; shared parameters have the names that the first of these models gives.
        """
        if not isinstance(module, nn.Module):
            raise SMDebugTypeError(f"module must be a torch.nn.Module (got {brief(module)})")
        model = RegisteredModule.of_model(module)
        if not self._register(model):
            return
        self._steps.invalidate_plan()
        on_forward = self._call_forward_pre_hook if self._overrides("forward_pre_hook") else self._on_forward
        if compiled_call(module) is not None:
            self._handles.append(CompiledCall.of(module).before(HookCallback(on_forward)))
        else:
            # Before other hooks, such as those that gather what is sharded.
            self._handles.append(module.register_forward_pre_hook(HookCallback(on_forward), prepend=True))
        self._attach_overridden(model)

    register_hook = register_module

    @script_call
    def register_loss(self, loss_module: nn.Module) -> None:
        """Capture the outputs of a loss, whatever its class is called, as members of collection ``losses``.

        Registering a loss again changes nothing but writes a warning.

        Raises:
            SMDebugTypeError: It is no loss module; values of loss functions go to `record_tensor_value`.
            SMDebugValueError: It is registered already as a part of a model.
        """
        if not isinstance(loss_module, nn.Module):
            raise SMDebugTypeError(
                f"loss_module must be a torch.nn.Module (got {brief(loss_module)}); "
                "give the value of a loss function to record_tensor_value"
            )
        loss = RegisteredModule.of_loss(loss_module)
        if self._register(loss):
            self._steps.invalidate_plan()
            self._collections.include_outputs(CollectionKeys.LOSSES, of=loss.name)
            self._attach_overridden(loss)
            plan = self._current_plan()
            if plan and not self._overrides("forward_hook"):  # a step is open, to which the loss may belong
                self._watching.watch_late(plan, loss)

    @script_call
    def record_tensor_value(self, tensor_name: str, tensor_value: Tensor) -> None:
        """Save a tensor as ``<tensor_name>_output_<i>``, if a saved collection includes that name.

        For the value of a loss function give a name that ends in ``loss``, and it belongs to collection ``losses``.

        Raises:
            SMDebugTypeError: The value is not a tensor.
        """
        if not isinstance(tensor_value, Tensor):
            raise SMDebugTypeError(f"tensor_value must be a torch.Tensor (got {brief(tensor_value)})")
        if self._lifecycle.accepts("record_tensor_value"):
            self._record_outputs(tensor_name, tensor_value)

    @property
    @script_query(lambda hook: StepNumber(-1, hook._end_step))  # noqa: SLF001 - of the hook itself
    def step(self) -> StepNumber:
        """Global step of the last step begun, -1 before the first; called, it ends that step.

        Ending steps is for hooks with `explicit_steps`: the forward passes since the last call are one step.
        """
        return StepNumber(self._steps.last_begun, self._end_step)

    @script_call
    def _end_step(self) -> None:
        if not self.explicit_steps:
            raise SMDebugRuntimeError(
                "step() must not be called on a hook whose steps are forward passes: set explicit_steps"
            )
        if not self._is_step_over:
            self._complete_step()
        self._is_step_over = True

    @script_call
    def gather(self, *patterns: str) -> None:
        """Save tensors that are spread over processes (``DTensor``) as a whole, not in shards.

        It is the first worker that saves them. Needs the same call in all processes, also in those that save nothing,
        after the models have been registered and before the first step. Processes talk only at steps where one of these
        tensors is due.

        Args:
            patterns: Tensors whose names match one of these; gradients have names of their own.

        Raises:
            SMDebugRuntimeError: A step has begun already.
            SMDebugValueError: A pattern is not a regular expression.
        """
        if self._steps.last_begun >= 0:
            raise SMDebugRuntimeError("gather() must be called before the first step")
        self._full_tensors.add(patterns)

    def begin_step(self, module: nn.Module) -> None:
        """Begin a step of a registered model whose forward pass the script does not start by calling the model.

        With `explicit_steps` nothing happens as long as a step is open.
        """
        self._on_forward(module, ())

    def count_parameters(self, model: nn.Module) -> int:
        """Return the number of parameters of a model that are trained."""
        return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)

    # --- called by PyTorch --------------------------------------------------------------------------------------------

    @fail_safe
    def _on_forward(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        if current_backward() != NO_BACKWARD:
            return
        if self.mode_follows_model:
            self.set_mode(self._mode_of(module))
        if not self.explicit_steps and self._skipped.begin():
            return
        if self.explicit_steps and self._steps.open is not None and not self._is_step_over:
            plan = self._current_plan()
            if plan:
                self._save_late_weights(plan, module)
            return
        self._is_step_over = False
        self._release_step()
        if self._program.note_inputs(module, inputs) and self._steps.last_begun >= 0:
            self._describe_program()
        plan = self._begin_step(submit=False)
        try:
            if plan is None:
                self._watching.stop()
                self._copies.rest(self._skipped.num_left)
            else:
                self._watch_step(module, plan)
        finally:
            self._submit_step()

    @fail_safe
    def _on_gradient(self, name: str, gradient: Tensor) -> None:
        if self._recorder.tensors:
            self._save_custom_tensors()
        if name not in self._optimizers.used:
            self._capture(name, gradient)

    @fail_safe
    def _on_updated(self, optimizer: Optimizer, *_: Any) -> None:
        self._optimizers.note_used(optimizer, self._watching.gradients, self._steps.open)

    @fail_safe
    def _on_module(
        self, name: str, module: nn.Module, inputs: tuple[Any, ...], named_inputs: dict[str, Any], outputs: Any
    ) -> None:
        if current_backward() != NO_BACKWARD:
            return
        self._save_custom_tensors()
        self._offer_numbered(f"{name}_input", inputs)
        self._offer_numbered(f"{name}_input", named_inputs)
        self._offer_numbered(f"{name}_output", outputs)
        if self._is_loss(module):
            if self._detector is not None:
                self._detector.exclude(flatten_tensors(outputs))
            self._note_loss(name, type(module).__name__, lambda: loss_arguments(unwrap_compiled(module)), inputs)

    def _register_hidden_part(self, part: nn.Module, model: nn.Module, path: str) -> None:
        """Capture a part of a registered model that PyTorch does not know of, in the steps of that model."""
        parent = next(root for root in self._roots if root.module is model)
        root = RegisteredModule.of_hidden_part(part, parent, path)
        if self._register(root):
            self._steps.invalidate_plan()
            plan = self._current_plan()
            if plan:
                self._watching.watch_late(plan, root)

    def _is_loss(self, module: nn.Module) -> bool:
        return any(root.module is module and not root.is_model for root in self._roots)

    def _note_loss(
        self, name: str, kind: str, arguments: Callable[[], Mapping[str, Any]], inputs: Iterable[Any]
    ) -> None:
        """Add a loss to the record of the program, at its first call with gradients."""
        if not self._program.knows_loss(name):
            with never_into_script(_not_described):
                if self._program.note_loss(name, kind, arguments(), inputs):
                    self._describe_program()

    @fail_safe
    def _on_backward(self, tensors: Iterable[Any]) -> None:
        if self._skipped.is_skipping or current_backward() != NO_BACKWARD or self._detector is None:
            return
        for loss in self._detector.losses_among(tensors):
            if self._lifecycle.is_active():
                self._offer_numbered("loss_output", loss)

    @fail_safe
    def _on_optimizer(self, optimizer: Optimizer, *_: Any) -> None:
        with never_into_script(_not_described):
            if self._program.note_optimizer(optimizer, len(self._roots), self._roots.parameters):
                self._describe_program()

    @fail_safe
    def _on_update(self, optimizer: Optimizer, *_: Any) -> None:
        self._optimizers.run_before(optimizer)

    @fail_safe
    def _record_outputs(self, name: str, outputs: Any) -> None:
        if not self._skipped.is_skipping:
            self._offer_numbered(f"{name}_output", outputs)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _make_detector(self) -> LossDetector:
        return LossDetector(self._on_backward)

    def _register(self, root: RegisteredModule) -> bool:
        if not self._lifecycle.accepts("register_module" if root.is_model else "register_loss"):
            return False
        is_new = self._roots.add(root)
        if is_new:
            self._optimizers.watch(self._on_optimizer)
            self._scripting.attach()
            self._watching.forget_plans()
        return is_new

    @fail_safe
    def _complete_step(self) -> None:
        """Save the script's own tensors with the step that ends."""
        self._save_custom_tensors()
        has_models = any(root.is_model for root in self._roots)
        if has_models and self._steps.last_begun < 0 and self._lifecycle.is_active() and not self._has_told_of_methods:
            self._has_told_of_methods = True
            LOG.warning(
                "step() ends no step, as no forward pass of what is registered was seen: where the script calls other "
                "methods of a model, call begin_step(model) before"
            )

    def _watch_step(self, module: nn.Module, plan: StepPlan) -> None:
        """Save the tensors due at the beginning of a step, and attach hooks for the others."""
        self._saved_roots = {id(module)}
        is_training = self.mode not in (ModeKeys.EVAL, ModeKeys.PREDICT)
        watch = self._watching.begin(
            plan,
            is_training and not self._overrides("backward_hook"),
            with_modules=not self._role.is_helper and not self._overrides("forward_hook"),
        )
        if self.explicit_steps and watch.gradients:
            self._optimizers.keep_used_gradients()
        if watch.shards:
            self._optimizers.save_shards(watch.shards, self._capture_missing)
        if self._full_tensors.gathering is not None:
            self._full_tensors.begin_step(plan, is_training, self.strict, self._optimizers)
        self._save_weights(watch.weights.get(id(module), []))
        for root in self._roots:
            if root.parent is module:
                self._save_weights(watch.weights.get(id(root.module), []))

    def _mode_of(self, module: nn.Module) -> ModeKeys:
        """Return the mode of a step that a forward pass begins, where it follows the model."""
        return ModeKeys.TRAIN if module.training else ModeKeys.EVAL

    def _is_own(self, name: str) -> bool:
        """Return whether this process saves its own part of a tensor, instead of sending it to the first worker."""
        return not (self._role.is_helper or self._full_tensors.has(name))

    def _save_late_weights(self, plan: StepPlan, module: nn.Module) -> None:
        """Save the parameters of a model that runs for the first time in a step that another model has begun."""
        if id(module) in self._saved_roots:
            return
        self._saved_roots.add(id(module))
        for root in self._roots:
            if root.module is module:
                self._save_weights(self._watching.weights_due(plan, root))

    def _capture_missing(self, name: str, value: Any) -> None:
        """Save a tensor unless the open step has it already."""
        if self._steps.open is not None and not self._steps.open.has(name):
            self._capture(name, value)

    def _release_step(self) -> None:
        """Clear the state of a step."""
        self._optimizers.end_step(self._steps.open)
        self._num_seen.clear()
        if self._detector is not None:
            self._detector.forget_excluded()

    # --- called by BaseHook -------------------------------------------------------------------------------------------

    def _find_worker(self) -> Worker:
        return find_worker()

    def _joins_collectives(self) -> bool:
        return self._full_tensors.needs_all_processes()

    def _sync_last_steps(self, last_steps: Mapping[ModeKeys, int]) -> Mapping[ModeKeys, int]:
        return self._full_tensors.agree_on_steps(last_steps)

    def _has_model(self) -> bool:
        return self._steps.last_begun >= 0 or any(root.is_model for root in self._roots)

    def _is_step_complete(self) -> bool:
        return self.explicit_steps and self._is_step_over

    def _before_plan(self) -> None:
        names = self._roots.names()
        with never_into_script(_not_described):
            models = [(root.name, root.modules()) for root in self._roots if root.is_model]
            losses = [(root.name, root.plain) for root in self._roots if not root.is_model]
            self._program.note_modules(models, losses)
            self._describe_program()
        for collection in self._collections:
            if isinstance(collection, Collection):
                collection.resolve_modules(names)
        self._watching.forget_plans()

    def _describe_program(self) -> None:
        self._dispatcher.describe_program(self._program.record())

    def _detach(self) -> None:
        run_all(
            self._warn_if_no_pass_was_seen,
            self._release_step,
            self._warn_of_missed_gradients,
            self._watching.end,
            self._optimizers.detach,
            lambda: self._detector.detach() if self._detector is not None else None,
            lambda: run_all(*(handle.remove for handle in self._handles)),
            self._handles.clear,
            self._scripting.detach,
            self._roots.clear,
            self._watching.forget_plans,
        )

    def _warn_if_no_pass_was_seen(self) -> None:
        unseen = [root.name for root in self._roots if root.is_model]
        if unseen and self._steps.last_begun < 0 and not (self._lifecycle.is_off or self._has_told_of_methods):
            LOG.warning(
                "nothing was captured: no forward pass of %s was seen; a model is to be compiled before it is "
                "registered, what is registered must be what the script calls, and begin_step(model) must come before "
                "calls of other methods",
                ", ".join(unseen),
            )

    def _warn_of_missed_gradients(self) -> None:
        if self._optimizers.has_missed_gradients and not self._lifecycle.is_off:
            LOG.warning(
                "gradients that are spread over processes were not saved: no update by an optimizer was seen; inside "
                "compiled code none is"
            )


def _not_described(error: Exception) -> None:
    LOG.warning("the program is not described: %r", error)


get_hook, set_hook = registry.accessors(Hook, create_if_not_exists=False)


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
