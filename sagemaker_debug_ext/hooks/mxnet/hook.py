"""The MXNet hook: parameters, gradients, losses, inputs and outputs of Gluon blocks."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

import attrs
import mxnet as mx
from mxnet import autograd, gluon
from mxnet.gluon.utils import HookHandle
from mxnet.ndarray import NDArray

from sagemaker_debug_ext.config.collection import Collection as BaseCollection
from sagemaker_debug_ext.config.hook_options import to_flag
from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugValueError
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.base import BaseHook
from sagemaker_debug_ext.hooks.capture.save_plan import StepPlan
from sagemaker_debug_ext.hooks.fail_safe import fail_safe, script_call
from sagemaker_debug_ext.hooks.mxnet.arrays import Parts, Reduced, Reductions, flatten_arrays, has_symbols
from sagemaker_debug_ext.hooks.mxnet.blocks import (
    Collection,
    Parameters,
    Tap,
    block_name,
    check_block,
    data_of,
    outermost_hybridised,
    parts_of,
)
from sagemaker_debug_ext.hooks.mxnet.symbol_graphs import GraphWatch, Place
from sagemaker_debug_ext.hooks.mxnet.trainers import TrainerWatch
from sagemaker_debug_ext.hooks.output.trial_output import CHIEF, Worker
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

LOG = logging.getLogger(__name__)

_WITHOUT_GRADIENTS: Final = frozenset({ModeKeys.EVAL, ModeKeys.PREDICT})


@attrs.define(eq=False)
class _Begun:
    """The state of the forward passes of the open step.

    Args:
        block: The block whose forward pass started the step.
        mode: The mode at the start of the step.
        is_recorded: Whether a backward pass can follow.
        contexts: The contexts on which the block has run.
        saved: Names of the parameters and gradients captured so far.
    """

    block: gluon.Block
    mode: ModeKeys
    is_recorded: bool
    contexts: list[mx.Context]
    saved: set[str] = attrs.field(factory=set)


class Hook(contextlib.ContextDecorator, BaseHook):
    """Captures tensors of a training job that uses Gluon.

    Each forward pass of a registered block is one step; passes over the parts of a batch on different contexts count as
    one step. The tensors of a step are:

    * ``<parameter>``: parameters at the end of the step, that is, after the update by a `gluon.Trainer`;
    * ``gradient/<parameter>``: the gradient that this update uses, summed over all contexts; without an update, the
      gradient of the step's backward pass;
    * ``<block>_input_<i>``, ``<block>_output_<i>``: positional inputs and outputs of blocks; the numbers continue if
      a block is called again within the step;
    * inputs and outputs of registered losses.

    Parameters are captured at the end of a step, and those of the last step when the hook is closed. MXNet's engine
    copies values asynchronously, so training does not wait for them, except for `save_scalar` of an array, for
    statistics, and for losses with a flight recorder. At steps that save nothing, the hook only counts each forward
    pass.

    Args:
        args: As for `BaseHook`.
        mode_follows_autograd: Use mode TRAIN for steps whose forward pass is in training mode, and EVAL for others,
            instead of the mode of `set_mode`.
        kwargs: As for `BaseHook`.

    Raises:
        SMDebugRuntimeError: The version of MXNet is not supported.
    """

    builtin_patterns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        CollectionKeys.DEFAULT: (),
        CollectionKeys.ALL: (),
        CollectionKeys.WEIGHTS: ("^(?!gradient).*weight",),
        CollectionKeys.BIASES: ("^(?!gradient).*bias",),
        CollectionKeys.GRADIENTS: ("^gradient",),
        CollectionKeys.LOSSES: (r"[Ll]oss\d*_(?!input).*output",),
    }
    collection_class: ClassVar[type[BaseCollection]] = Collection
    model_hint: ClassVar[str] = "call hook.register_block(net) before training"
    loss_hint: ClassVar[str] = "call hook.register_block(loss), or hook.register_loss(loss) if it is no gluon.loss.Loss"

    def __init__(self, *args: Any, mode_follows_autograd: bool = False, **kwargs: Any) -> None:
        if not mx.__version__.startswith("1."):
            raise SMDebugRuntimeError(f"MXNet must be of version 1, from 1.9 on (got {mx.__version__})")
        self.mode_follows_autograd = to_flag(mode_follows_autograd, "mode_follows_autograd")
        """Whether the mode of a step is TRAIN or EVAL as autograd says, instead of what `set_mode` said last."""
        self._models: list[gluon.Block] = []
        self._losses: list[gluon.Block] = []
        self._parameters: dict[int, Parameters] = {}
        self._handles: list[HookHandle] = []
        self._step_handles: list[HookHandle] = []
        self._trainers = TrainerWatch(self._on_update, self._on_updated)
        self._begun: _Begun | None = None
        self._num_seen: dict[str, int] = {}
        self._wanted: dict[StepPlan, dict[int, gluon.Block]] = {}
        self._graph_watches: dict[tuple[StepPlan, int], GraphWatch] = {}
        self._graphs: list[GraphWatch] = []
        self._reported: set[str] = set()
        super().__init__(*args, **kwargs)

    # --- what the script says -----------------------------------------------------------------------------------------

    @script_call
    def register_block(self, block: gluon.Block) -> None:
        """Capture a block. Each of its forward passes is a step, unless the block is a loss.

        Registering a block again only logs a warning. Register a block after it has been hybridised; otherwise MXNet
        warns about its hooks, although those of the block itself keep working.

        Raises:
            SMDebugTypeError: `block` is not a Gluon block.
            SMDebugValueError: The block is a part of a registered block, or vice versa. Blocks that share parts may be
                registered.
        """
        if isinstance(block, gluon.loss.Loss):
            self.register_loss(block)
        elif self._register(block, self._models):
            self._handles.append(block.register_forward_pre_hook(Tap(self._on_forward)))

    register_hook = register_block

    @script_call
    def register_loss(self, block: gluon.Block) -> None:
        """Capture the inputs and outputs of a loss that is not a `gluon.loss.Loss`. Its calls are not steps.

        Its outputs are members of collection ``losses``, independent of its name.

        Raises:
            SMDebugTypeError: `block` is not a Gluon block.
            SMDebugValueError: The block is a part of a registered block, or vice versa.
        """
        if not self._register(block, self._losses):
            return
        self._steps.invalidate_plan()
        self._collections.include_outputs(CollectionKeys.LOSSES, of=block_name(block))
        plan = self._current_plan()
        if plan:  # within a step, whose blocks are already watched
            self._tap(part for part in parts_of(block) if plan.may_select_of(block_name(part)))

    # --- what MXNet calls ---------------------------------------------------------------------------------------------

    @fail_safe
    def _on_forward(self, block: gluon.Block, inputs: tuple[Any, ...]) -> None:
        if has_symbols(inputs):
            if self._steps.open is None:
                self._report(
                    f"block {block_name(block)!r} is called for its graph: inside a hybridised block it makes no "
                    "steps; register that block instead"
                )
            return
        if self.mode_follows_autograd:
            self.set_mode(ModeKeys.TRAIN if autograd.is_training() else ModeKeys.EVAL)
        array = next(flatten_arrays(inputs), None)
        contexts = [] if array is None else [array.context]
        begun = _Begun(block, self.mode, autograd.is_recording(), contexts)
        if self._continues(begun):
            self._begin_graph(block, inputs)
            return
        self._save_parameters()
        self._release_step()
        plan = self._begin_step(submit=False)
        self._begun = begun
        try:
            if plan is not None:
                self._watch_step(plan)
                self._begin_graph(block, inputs)
        finally:
            self._submit_step()

    @fail_safe
    def _on_block(self, block: gluon.Block, inputs: tuple[Any, ...], outputs: Any) -> None:
        if has_symbols(inputs):
            return
        self._save_custom_tensors()
        self._offer_numbered(f"{block_name(block)}_input", inputs)
        self._offer_numbered(f"{block_name(block)}_output", outputs)

    @fail_safe
    def _begin_graph(self, block: gluon.Block, inputs: tuple[Any, ...]) -> None:
        for graph in self._graphs:
            if graph.block is block and not has_symbols(inputs) and not graph.begin(inputs):
                self._report_missing(graph.wanted)

    @fail_safe
    def _end_graph(self, block: gluon.Block, *_: Any) -> None:
        for graph in self._graphs:
            if graph.block is block:
                self._report_missing(graph.end())

    @fail_safe
    def _on_node(self, place: Place, array: NDArray) -> None:
        self._offer_numbered(f"{block_name(place.block)}_{place.kind}", array)

    @fail_safe
    def _on_update(self, parameters: Iterable[gluon.Parameter], is_reduced: bool) -> None:
        self._save_custom_tensors()
        for parameter in self._registered(parameters):
            self._save_gradient(parameter, is_reduced)

    @fail_safe
    def _on_updated(self, parameters: Iterable[gluon.Parameter], _: bool) -> None:
        for parameter in self._registered(parameters):
            self._save_weight(parameter)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _register(self, block: gluon.Block, blocks: list[gluon.Block]) -> bool:
        known = [*self._models, *self._losses]
        check_block(block)
        if not self._lifecycle.accepts("register_block"):
            return False
        if any(other is block for other in known):
            LOG.warning("block %r is registered already", block_name(block))
            return False
        for inner, outer in [(block, other) for other in known] + [(other, block) for other in known]:
            if any(part is inner for part in parts_of(outer)):
                raise SMDebugValueError(
                    f"block must not be registered together with a part of it "
                    f"({block_name(inner)!r} is a part of {block_name(outer)!r})"
                )
        blocks.append(block)
        self._parameters[id(block)] = Parameters(block)
        self._forget_plans()
        return True

    def _continues(self, begun: _Begun) -> bool:
        """Return whether a forward pass is for another part of the open step's batch, on another context."""
        last = self._begun
        if (
            last is None
            or self._steps.open is None
            or begun.block is not last.block
            or begun.mode is not last.mode
            or begun.is_recorded is not last.is_recorded
            or not begun.contexts
            or begun.contexts[0] in last.contexts
        ):
            return False
        last.contexts += begun.contexts
        return True

    def _watch_step(self, plan: StepPlan) -> None:
        """Install the callbacks that capture the due tensors of a step."""
        roots = (*self._models, *self._losses)
        if plan not in self._wanted:
            parts = [part for root in roots for part in parts_of(root) if plan.may_select_of(block_name(part))]
            self._wanted[plan] = {id(part): part for part in parts}
        called = dict(self._wanted[plan])
        for block in [block for root in roots for block in outermost_hybridised(root)]:  # may differ between steps
            inside = [called.pop(id(part), None) for part in parts_of(block) if part is not block]
            parts = [part for part in inside if part is not None]
            if parts:
                self._watch_graph(plan, block, parts)
        self._tap(called.values())
        self._trainers.attach()

    def _watch_graph(self, plan: StepPlan, block: gluon.HybridBlock, parts: list[gluon.Block]) -> None:
        """Capture blocks inside a hybridised block, whose own callbacks MXNet does not call."""
        if (plan, id(block)) not in self._graph_watches:
            self._graph_watches[plan, id(block)] = GraphWatch(block, parts, self._on_node)
        self._graphs.append(self._graph_watches[plan, id(block)])
        if not any(block is model for model in self._models):  # the call of a model is already in progress
            self._step_handles.append(block.register_forward_pre_hook(Tap(self._begin_graph)))
        self._step_handles.append(block.register_forward_hook(Tap(self._end_graph)))

    def _tap(self, blocks: Iterable[gluon.Block]) -> None:
        for block in blocks:
            self._step_handles.append(block.register_forward_hook(Tap(self._on_block)))

    def _report_missing(self, blocks: Iterable[gluon.Block]) -> None:
        names = ", ".join(map(block_name, blocks))
        if names:
            self._report(
                f"inputs and outputs of blocks inside a hybridised block are not all saved: {names}; everything else is"
            )

    def _registered(self, parameters: Iterable[gluon.Parameter]) -> list[gluon.Parameter]:
        """Return the parameters of a trainer that belong to a registered model and are due, or whose gradients are."""
        due = [param for param in parameters if self._is_due(param.name) or self._is_due(f"gradient/{param.name}")]
        known = [self._parameters[id(model)].collect() for model in self._models] if due else []
        return [param for param in due if any(id(param) in parameters for parameters in known)]

    @fail_safe
    def _save_parameters(self) -> None:
        """Save the parameters of the model that the step has not saved yet, at the end of the step."""
        if self._begun is None or not self._current_plan():
            return
        for parameter in self._parameters[id(self._begun.block)].collect().values():
            if parameter.name not in self._begun.saved:
                self._save_weight(parameter)
            if f"gradient/{parameter.name}" not in self._begun.saved and self._begun.is_recorded:
                self._save_gradient(parameter, is_reduced=False)

    def _save_weight(self, parameter: gluon.Parameter) -> None:
        if not self._is_due(parameter.name):
            return
        storage = parameter._stype  # noqa: SLF001 - a parameter does not tell it otherwise
        if storage != "default":  # only its trainer has the full array
            self._report(f"parameter {parameter.name!r} is not saved, as its storage is {storage}")
            return
        data = data_of(parameter)
        if data:
            self._save_once(parameter.name, Parts(data[:1]))

    def _save_gradient(self, parameter: gluon.Parameter, is_reduced: bool) -> None:
        """Save a gradient of a backward pass that no update has used."""
        name = f"gradient/{parameter.name}"
        is_training = self._begun is not None and self._begun.mode not in _WITHOUT_GRADIENTS
        if parameter.grad_req == "null" or not is_training or not self._is_due(name):
            return
        data = data_of(parameter)
        if data and data[0]._fresh_grad:  # noqa: SLF001 - what MXNet's own trainer asks
            gradients = tuple(parameter.list_grad())
            self._save_once(name, Parts(gradients[:1] if is_reduced else gradients))

    def _is_due(self, name: str) -> bool:
        plan = self._current_plan()
        return plan is not None and plan.decide(name) is not None

    def _save_once(self, name: str, value: Parts) -> None:
        self._capture(name, value)
        if self._begun is not None:
            self._begun.saved.add(name)

    def _offer_numbered(self, prefix: str, values: Any) -> None:
        for array in flatten_arrays(values):
            index = self._num_seen.get(prefix, 0)
            self._num_seen[prefix] = index + 1
            self._capture(f"{prefix}_{index}", Parts((array,)))

    def _release_step(self) -> None:
        """Remove the callbacks of the step."""
        for handle in self._step_handles:
            handle.detach()
        self._step_handles.clear()
        for graph in self._graphs:
            graph.end()
        self._graphs.clear()
        self._trainers.detach()
        self._num_seen.clear()
        self._begun = None

    def _forget_plans(self) -> None:
        self._wanted.clear()
        self._graph_watches.clear()

    def _report(self, message: str) -> None:
        """Log a message once."""
        if message not in self._reported:
            self._reported.add(message)
            LOG.warning("%s", message)

    # --- what BaseHook asks -------------------------------------------------------------------------------------------

    def _find_worker(self) -> Worker:
        horovod = sys.modules.get("horovod.mxnet")  # used if the script has imported it, but never imported here
        if horovod is not None and horovod.is_initialized():
            return Worker(f"worker_{horovod.rank()}", horovod.size())
        return Worker(CHIEF, 1)

    def _before_plan(self) -> None:
        self._forget_plans()

    def _copy_value(self, value: Any) -> Any:
        parts = Parts((value,)) if isinstance(value, NDArray) else value
        return parts.copy() if isinstance(parts, Parts) else super()._copy_value(value)

    def _to_array(self, value: Any) -> Array:
        return value.to_array() if isinstance(value, (Parts, Reduced)) else super()._to_array(value)

    def _reduce(self, value: Any, reductions: Iterable[Reduction]) -> Iterable[tuple[Reduction, Any]]:
        if not isinstance(value, Parts):
            yield from super()._reduce(value, reductions)
            return
        wanted = Reductions(value.copy(), reductions)  # the writing thread computes them
        for reduction in reductions:
            yield reduction, Reduced(wanted, reduction)

    def _has_model(self) -> bool:
        return self._steps.last_begun >= 0 or bool(self._models)

    def _detach(self) -> None:
        self._save_parameters()
        self._release_step()
        for handle in self._handles:
            handle.detach()
        self._handles.clear()
        self._models.clear()
        self._losses.clear()
        self._parameters.clear()
        self._forget_plans()


get_hook, set_hook = registry.accessors(Hook, create_if_not_exists=True)
