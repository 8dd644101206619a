"""Wrappers of the functions that Keras calls for every batch, such as ``train_function`` and ``test_function``.

Keras' own function always runs the step. In graphs of TensorFlow, a `Replay` computes the tensors of a `Recording`
before it, because additional outputs of a graph change how it rounds. Eager steps are recorded as they run, because
recording adds no operation to them.

A model with replicas, or whose steps have effects that a replay would repeat, has a second version of its function,
whose graph also returns the recorded tensors. Keras builds it from a wrapped step, and the hook says so. Steps that
save no recorded tensors have no overhead in either case.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import keras

from sagemaker_debug_ext.hooks.fail_safe import never_into_script
from sagemaker_debug_ext.hooks.keras.backend import is_tensorflow
from sagemaker_debug_ext.hooks.keras.names import optimizers_of
from sagemaker_debug_ext.hooks.keras.recording import (
    INPUTS,
    PREDICTIONS,
    CallNames,
    Recording,
    Wants,
    replaced,
    tap_call,
    tap_optimizer,
    tapped_layers,
)
from sagemaker_debug_ext.hooks.process.sigterm import wraps_training
from sagemaker_debug_ext.hooks.program.keras import output_keys
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.hooks.keras.replay import Replay

LOG = logging.getLogger(__name__)

_IN_ITS_GRAPH: Final = (
    "tensors of layers, gradients, inputs and outputs come from the graph that trains, because %s; training may round "
    "otherwise than without them, so leave these collections out where it has to be equal to the last bit"
)

wraps_training(__name__)

_RANDOM: Final = frozenset(
    {
        "Multinomial",
        "ParameterizedTruncatedNormal",
        "RandomGamma",
        "RandomPoisson",
        "RandomPoissonV2",
        "RandomShuffle",
        "RandomStandardNormal",
        "RandomUniform",
        "RandomUniformInt",
        "TruncatedNormal",
    }
)
"""Random operations with state inside the graph; Keras layers use others, whose state is in variables."""


class Phase(enum.Enum):
    """The purpose for which Keras runs batches."""

    TRAIN = "train"
    TEST = "test"
    PREDICT = "predict"

    @property
    def mode(self) -> ModeKeys:
        """The mode of the phase's steps."""
        return _MODES[self]


_MODES: Final = {Phase.TRAIN: ModeKeys.TRAIN, Phase.TEST: ModeKeys.EVAL, Phase.PREDICT: ModeKeys.PREDICT}


class StepListener(NamedTuple):
    """The functions of a hook for the steps of a model.

    Args:
        before: Called when a step starts; returns whether it saves tensors that have to be recorded.
        after: Called when a step has ended, with its outputs and the recorded tensors.
        cancel: Called when there was no further batch.
        may_record: Returns, before the first step, whether any step may record tensors.
        wants: Returns whether a tensor may ever be saved.
        path_of: Returns the name of a variable.
        guard: Calls a function and suppresses its errors.
        note_batch: Called with the inputs, labels and weights of a batch when a step is recorded. They may be tensors
            of a graph.
    """

    before: Callable[[Phase], Any]
    after: Callable[[Phase, Any, dict[str, Any]], Any]
    cancel: Callable[[], Any]
    may_record: Callable[[Phase], Any]
    wants: Wants
    path_of: Callable[[Any], str]
    guard: Callable[..., Any]
    note_batch: Callable[[Phase, Any, Any, Any], Any]


class _Outputs(NamedTuple):
    outputs: Any
    recorded: dict[str, Any]


class WrappedFunction:
    """Replaces the function that Keras calls for every batch of one phase.

    Args:
        model: The model, whose function has been built.
        phase: The phase.
        watcher: Listener for every step.
    """

    def __init__(self, model: Any, phase: Phase, watcher: StepListener) -> None:
        self.model = model
        self._phase = phase
        self._watcher = watcher
        self._attribute = f"{phase.value}_function"
        self._plain = getattr(model, self._attribute)
        self._recording_one: Callable[..., Any] | None = None
        self._always_records = False
        self._is_first_call = True
        self._trained: frozenset[int] | None = None
        self._replay: Replay | None = None
        self._can_replay = is_tensorflow() and not _runs_eagerly(model)

    def attach(self) -> None:
        """Replace the model's function; functions that were built for an earlier run are reused if they still fit."""
        found = getattr(self.model, self._attribute)
        if found is not self and found is not self._plain:
            self._plain, self._recording_one, self._always_records, self._is_first_call = found, None, False, True
            self._trained = None
            self._replay, self._can_replay = None, is_tensorflow() and not _runs_eagerly(self.model)
        setattr(self.model, self._attribute, self)

    def not_compiled(self) -> list[Any]:
        """Return the variables that are set to train, but were not after the first step of Keras' function.

        It has been traced for those that were, and ends with `compile`.
        """
        variables = self.model.trainable_variables
        if self._trained is None:
            self._trained = frozenset(map(id, variables))
        return [variable for variable in variables if id(variable) not in self._trained]

    @property
    def is_attached(self) -> bool:
        """Whether this is the model's function."""
        return getattr(self.model, self._attribute, None) is self

    def detach(self) -> None:
        """Restore the model's function."""
        if self.is_attached:
            setattr(self.model, self._attribute, self._plain)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run a step as Keras does, and notify the listener."""
        watcher = self._watcher
        has_to_record = bool(watcher.before(self._phase))
        with contextlib.ExitStack() as on_error:
            on_error.callback(watcher.cancel)  # nothing is saved of a step that did not take place
            if self._can_replay and len(args) == 1 and not kwargs:
                outputs, recorded = self._run_replaying(args[0], has_to_record)
            else:
                outputs, recorded = self._run_recording_if_needed(has_to_record, *args, **kwargs)
            on_error.pop_all()
        watcher.after(self._phase, outputs, recorded if has_to_record else {})
        return outputs

    def _run_replaying(self, source: Any, has_to_record: bool) -> tuple[Any, dict[str, Any]]:
        """Run a step in Keras' own graph, after its tensors have been computed in another one."""
        if not (has_to_record or (self._is_first_call and self._watcher.may_record(self._phase))):
            self._is_first_call = False
            return self._plain(source), {}
        from sagemaker_debug_ext.hooks.keras.replay import Batches, Replay  # noqa: PLC0415 - TensorFlow

        recorded: dict[str, Any] = {}
        argument = source
        with never_into_script(self._give_up_replaying):
            batches = Batches(source, int(getattr(self.model, "steps_per_execution", 1) or 1))
            argument = batches.argument
            if batches.first is not None:
                self._replay = self._replay or Replay(self._record)
                recorded = self._replay(batches.first)
        if not self._can_replay:
            return self._run_recording_if_needed(has_to_record, argument)
        self._is_first_call = False
        outputs = self._plain(argument)
        if self._phase is Phase.PREDICT and "predictions" in recorded:  # those that the script gets
            recorded["predictions"] = outputs
        return outputs, recorded

    def _give_up_replaying(self, reason: Exception) -> None:
        self._can_replay = False
        self._replay = None
        LOG.warning(_IN_ITS_GRAPH, reason)

    def _record(self, data: Any) -> dict[str, Any]:
        model = self.model
        with self._tapped():
            step = getattr(model, f"{self._phase.value}_step")
            strategy = getattr(model, "distribute_strategy", None)
            result = step(data) if strategy is None else strategy.run(step, args=(data,))
        recorded: dict[str, Any] = result.recorded
        return recorded

    def _run_recording_if_needed(self, has_to_record: bool, *args: Any, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        # If the graph draws random numbers, the first call decides, because all calls must use the same graph.
        may_have_to = self._is_first_call and is_tensorflow() and bool(self._watcher.may_record(self._phase))
        self._is_first_call = False
        if has_to_record or self._always_records or may_have_to:
            return self._run_recording(*args, **kwargs)
        return self._plain(*args, **kwargs), {}

    def _run_recording(self, *args: Any, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        with contextlib.ExitStack() as stack:
            function = self._plain
            with never_into_script(functools.partial(self._watcher.guard, _raise)):
                stack.enter_context(self._tapped())
                function = self._recording_one or self._make_recording_one()
            result = function(*args, **kwargs)
        return (result.outputs, result.recorded) if isinstance(result, _Outputs) else (result, {})

    def _make_recording_one(self) -> Callable[..., Any]:
        model = self.model
        try:
            getattr(model, f"make_{self._attribute}")(force=True)
            self._recording_one = getattr(model, self._attribute)
        finally:
            setattr(model, self._attribute, self)
        return self._recording_one

    @contextlib.contextmanager
    def _tapped(self) -> Iterator[None]:
        """Record the model's step, layers and optimizers within the context, in which a graph may be built."""
        model, guard = self.model, self._watcher.guard
        step_name = f"{self._phase.value}_step"
        with contextlib.ExitStack() as stack:
            stack.enter_context(replaced(model, step_name, self._wrap_step(getattr(model, step_name))))
            stack.enter_context(replaced(model, "call", tap_call(CallNames(None, PREDICTIONS), model.call, guard)))
            stack.enter_context(tapped_layers(model, self._watcher.wants, guard))
            if self._phase is Phase.TRAIN:
                for optimizer in optimizers_of(model):
                    tapped = tap_optimizer(optimizer, self._watcher.path_of, optimizer.apply, guard)
                    stack.enter_context(replaced(optimizer, "apply", tapped))
            yield

    def _wrap_step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        guard = self._watcher.guard

        def step(data: Any) -> _Outputs:
            recording = Recording(self._watcher.wants)
            with recording:
                outputs = original(data)
            guard(self._note_data, recording, data)
            recorded = guard(recording.tensors, self._phase is not Phase.PREDICT) or {}
            guard(self._look_for_random_numbers)
            return _Outputs(outputs, recorded)

        return step

    def _note_data(self, recording: Recording, data: Any) -> None:
        try:
            inputs, labels, weights = keras.utils.unpack_x_y_sample_weight(data)
        except ValueError:  # the model uses its own form of data
            inputs, labels, weights = data, None, None
        recording.note(*INPUTS, inputs)
        if isinstance(labels, Mapping):
            keys = output_keys(self.model)
            labels = [labels[key] for key in keys if key in labels] or labels  # beside their predictions
        if self._phase is not Phase.PREDICT:
            recording.note("labels", CollectionKeys.OUTPUTS, labels)
            if weights is not None:
                recording.note("sample_weights", CollectionKeys.INPUTS, weights)
        self._watcher.note_batch(self._phase, inputs, labels, weights)

    def _look_for_random_numbers(self) -> None:
        if self._always_records or not is_tensorflow():
            return
        import tensorflow as tf  # noqa: PLC0415 - not there with other back ends

        if tf.executing_eagerly():
            return
        graph = tf.compat.v1.get_default_graph().as_graph_def()
        nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
        if any(node.op in _RANDOM for node in nodes):
            LOG.debug("one graph runs all steps, because it has stateful random operations")
            self._always_records = True


def _runs_eagerly(model: Any) -> bool:
    """Return whether the steps of a model are no graphs, so that recording adds no computation."""
    import tensorflow as tf  # noqa: PLC0415 - not there with other back ends

    return bool(getattr(model, "run_eagerly", False)) or bool(tf.config.functions_run_eagerly())


def _raise(error: Exception) -> None:
    raise error
