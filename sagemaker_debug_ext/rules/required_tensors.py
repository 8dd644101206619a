"""Which tensors a rule needs at a step: `RequiredTensors`, filled by a rule's ``set_required_tensors``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.trials.arguments import list_steps
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial
    from sagemaker_debug_ext.trials.tensors import Tensor


class RequiredTensorsForTrial:
    """The tensors that a rule needs of one trial, each with the global steps it needs them at.

    Args:
        trial: The trial they are read from.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self._steps: dict[str, list[int]] = {}
        self._tensors: dict[str, Tensor] = {}

    def add(self, name: str, steps: Iterable[int], should_match_regex: bool = False) -> None:
        """Ask for a tensor at some steps.

        Args:
            name: Name of the tensor, or a regular expression.
            steps: Global steps; repeated ones count once.
            should_match_regex: Ask for every tensor in whose name the expression is found.

        Raises:
            TensorUnavailable: No tensor has that name.
            SMDebugTypeError: `steps` is no list of steps.
        """
        wanted = list_steps(steps)
        names = self.trial.tensor_names(regex=name) if should_match_regex else [self._tensor(name).name]
        for tensor_name in names:
            known = self._steps.get(tensor_name)
            if known is None:
                self._steps[tensor_name] = wanted[:] if len(wanted) == 1 else list(dict.fromkeys(wanted))
            else:
                known.extend(step for step in dict.fromkeys(wanted) if step not in known)

    def get_names(self) -> list[str]:
        """Return the names asked for, in the order they were added."""
        return list(self._steps)

    def get_tensor_steps(self, name: str) -> list[int]:
        """Return the steps at which `name` was asked for, in the order they were added."""
        return list(self._steps.get(name, ()))

    def get(self) -> list[Tensor]:
        """Return the tensors asked for, in the order they were added."""
        return [self._tensor(name) for name in self._steps]

    def clear(self) -> None:
        """Forget all requirements."""
        self._steps.clear()

    def fetch(self, present: int | None = None) -> None:
        """Wait for the steps asked for, and make sure that each tensor was saved at each of its steps.

        Values are read when the rule asks for them, not here.

        Args:
            present: A step that is known to be there, and need not be waited for.

        Raises:
            NoMoreData: The job ended before one of the steps.
            StepUnavailable: One of the steps was not saved.
            TensorUnavailableForStep: A step is there without the tensor.
        """
        steps = sorted(
            {step for steps_of_tensor in self._steps.values() for step in steps_of_tensor if step != present}
        )
        if steps:
            self.trial.wait_for_steps(steps)
        reader = self.trial.index_reader
        for name, wanted in self._steps.items():
            for step in wanted:
                if reader.file_of(name, step, ModeKeys.GLOBAL, None) is None:
                    self._tensor(name).workers(step)  # raises, unless a worker has saved the tensor in this moment

    def _tensor(self, name: str) -> Tensor:
        """Return a tensor, which is asked of the trial once: it stays there for good."""
        found = self._tensors.get(name)
        if found is None:
            found = self._tensors[name] = self.trial.tensor(name)
        return found


class RequiredTensors:
    """The tensors that a rule needs of its trials.

    Args:
        base_trial: The trial that is meant where a method gets no trial.
        other_trials: Further trials that the rule reads.
    """

    def __init__(self, base_trial: Trial, other_trials: Sequence[Trial] | None = None) -> None:
        self.base_trial = base_trial
        self.trials = [base_trial, *(other_trials or ())]
        self._of_trial = {trial: RequiredTensorsForTrial(trial) for trial in self.trials}

    def add(
        self, name: str, steps: Iterable[int], trial: Trial | None = None, should_match_regex: bool = False
    ) -> None:
        """Ask for a tensor at some steps; see `RequiredTensorsForTrial.add`."""
        self._of(trial).add(name, steps, should_match_regex)

    def get_names(self, trial: Trial | None = None) -> list[str]:
        """Return the names asked for, in the order they were added."""
        return self._of(trial).get_names()

    def get_tensor_steps(self, name: str, trial: Trial | None = None) -> list[int]:
        """Return the steps at which `name` was asked for."""
        return self._of(trial).get_tensor_steps(name)

    def get(self, trial: Trial | None = None) -> list[Tensor]:
        """Return the tensors asked for, in the order they were added."""
        return self._of(trial).get()

    def clear(self) -> None:
        """Forget all requirements, in all trials."""
        for required in self._of_trial.values():
            required.clear()

    def fetch(self, present: int | None = None) -> None:
        """Wait for everything asked for; `present` is a step of the base trial. See `RequiredTensorsForTrial.fetch`."""
        for trial, required in self._of_trial.items():
            required.fetch(present if trial is self.base_trial else None)

    def _of(self, trial: Trial | None) -> RequiredTensorsForTrial:
        try:
            return self._of_trial[self.base_trial if trial is None else trial]
        except KeyError as error:
            raise SMDebugValueError(f"trial must be one of the rule's trials (got {trial!r})") from error
