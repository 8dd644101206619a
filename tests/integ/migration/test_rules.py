"""Custom rules and their invocation, on both libraries."""

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")  # the original's use of NumPy is deprecated


@pytest.fixture(autouse=True)
def no_delay(monkeypatch):
    """The original waits a second at the end of a job."""
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")


def write_step(library, folder, step, value=1.0):
    with library.module("core.writer").FileWriter(trial_dir=str(folder), step=step, worker="algo-1") as writer:
        for number in range(3):
            writer.write_tensor(tdata=np.full(3, value, "f4"), tname=f"foo_{number}")


@pytest.fixture
def folder(library, tmp_path):
    """An empty trial of one worker."""
    manager = library.module("core.collection_manager").CollectionManager()
    manager.add("default")
    manager.export(str(tmp_path), "worker_0_collections.json")
    return tmp_path


def not_a_number_rule(library, trial):
    """Return a rule as users write it."""
    rules = library.module("rules")

    class NotANumber(rules.Rule):
        def __init__(self, base_trial):
            super().__init__(base_trial, action_str="")
            self.invoked = []

        def set_required_tensors(self, step):
            for name in self.base_trial.tensor_names():
                self.req_tensors.add(name, steps=[step])

        def invoke_at_step(self, step):
            self.invoked.append(step)
            return any(np.isnan(tensor.value(step)).any() for tensor in self.req_tensors.get())

    return NotANumber(trial)


@pytest.mark.parametrize("start_step", [0, 1])
def test_invoke_rule_when_its_condition_is_met_then_raises_on_request(library, folder, start_step):
    """The loop goes over steps until the end, or to the first that meets the condition."""
    for step, value in enumerate([np.nan, 1.0, np.nan]):
        write_step(library, folder, step, value)
    rule = not_a_number_rule(library, library.module("trials").create_trial(str(folder)))
    invoke = library.module("rules.rule_invoker").invoke_rule
    with pytest.raises(library.module("exceptions").RuleEvaluationConditionMet) as error:
        invoke(rule, start_step=start_step, end_step=3, raise_eval_cond=True)
    assert error.value.step == (2 if start_step else 0)
    assert error.value.rule_name == "NotANumber"
    rule.invoked.clear()
    invoke(rule, start_step=start_step, end_step=3)
    assert rule.invoked == list(range(start_step, 3))


def test_rule_when_it_looks_at_the_next_step_then_sees_what_is_written(library, folder):
    """A rule looks again before each step; what it sees within a step is fixed."""
    errors = library.module("exceptions")
    for step in range(2):
        write_step(library, folder, step)
    trial = library.module("trials").create_trial(str(folder))

    class NextStep(library.module("rules").Rule):
        def set_required_tensors(self, step):
            for name in self.base_trial.tensor_names():
                self.req_tensors.add(name, steps=[step])

        def invoke_at_step(self, step):
            for tensor in self.req_tensors.get():
                tensor.value(step + 1)

    rule = NextStep(trial, action_str="")
    rule.invoke(0)
    with pytest.raises(errors.StepNotYetAvailable):
        rule.invoke(1)
    write_step(library, folder, 2)
    with library.module("analysis.utils").no_refresh(trial), pytest.raises(errors.StepNotYetAvailable):
        rule.invoke_at_step(1)
    rule.invoke(1)


def test_rule_when_a_tensor_it_requires_is_missing_then_the_error_names_the_kind(library, folder):
    """`invoke` raises; `invoke_rule` goes on to the next step."""
    errors = library.module("exceptions")
    write_step(library, folder, 0)
    write_step(library, folder, 2)
    (folder / "training_job_end.ts").touch()
    rule = not_a_number_rule(library, library.module("trials").create_trial(str(folder)))
    with pytest.raises(errors.StepUnavailable):
        rule.invoke(1)
    rule.invoke(2)
    library.module("rules.rule_invoker").invoke_rule(rule, end_step=3)
    assert rule.invoked == [2, 0, 2]
