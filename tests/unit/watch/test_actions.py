"""Actions of a watched job are carried out once."""

import pytest

from sagemaker_debug_ext.config.job_spec import ActionOptions
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.watch.actions import JobActions
from sagemaker_debug_ext.watch.evaluation import RuleRecord

STOP = {"name": "stoptraining", "training_job_prefix": ""}
DIRECT = ActionOptions()
EMAIL = {"name": "email", "endpoint": "me@example.com"}


class Client:
    """Records the calls of every AWS client."""

    def __init__(self, calls, error=None):
        self._calls = calls
        self._error = error

    def __getattr__(self, operation):
        def call(**members):
            self._calls.append((operation, members))
            if self._error is not None:
                raise self._error
            return {}

        return call


def make(state, options=DIRECT, asked=None, error=None):
    """Return a function that carries out an action, the record of its rule and the calls of clients."""
    calls = []
    record = RuleRecord({"RuleConfigurationName": "VanishingGradient"})
    ask = None if asked is None else asked.append
    actions = JobActions("digits-1", state, options, ask, lambda _: Client(calls, error))
    handlers = actions.handlers(record)
    return (lambda parameters: handlers[parameters["name"]](parameters, "VanishingGradient", "vanished")), record, calls


@pytest.mark.parametrize("prefix", ["", "digits", "digits-1"])
def test_stop_when_the_prefix_is_that_of_the_job_then_its_exact_name_is_stopped(prefix):
    """Nothing is listed, so neither capitals nor similar names matter."""
    asked = []
    act, record, calls = make(MemoryBackend(), asked=asked)
    act({**STOP, "training_job_prefix": prefix})
    assert calls == [("stop_training_job", {"TrainingJobName": "digits-1"})]
    assert asked == ["VanishingGradient"]
    assert record.actions == [{"name": "stoptraining", "outcome": "done"}]


@pytest.mark.parametrize(("stop", "num_asked"), [("cooperative", 1), ("off", 0)])
def test_stop_when_not_direct_then_no_interface_is_called(stop, num_asked):
    """In a closed network only the script can stop."""
    asked = []
    act, _, calls = make(MemoryBackend(), ActionOptions(stop=stop), asked)
    act(STOP)
    assert (calls, len(asked)) == ([], num_asked)


def test_message_when_another_watcher_has_begun_it_then_is_not_sent_again():
    """Whether or not that one lived to record the outcome."""
    options = ActionOptions(topic_arn="arn:aws:sns:us-east-1:1:topic")
    state = MemoryBackend()
    act, _, calls = make(state, options)
    act(EMAIL)
    assert [operation for operation, _ in calls] == ["publish"]
    assert calls[0][1]["TopicArn"] == options.topic_arn
    again, record, more = make(state, options)
    again(EMAIL)
    assert more == []
    assert record.actions[0]["outcome"].startswith("not repeated")
    for info in state.list("actions/"):
        state.write(info.key, [b""])  # as after a kill between token and outcome
    third, _, more = make(state, options)
    third(EMAIL)
    assert more == []


def test_stop_when_the_watcher_before_died_while_stopping_then_is_repeated():
    """Stopping twice does no harm; not stopping costs money."""
    state = MemoryBackend()
    make(state)[0](STOP)
    for info in state.list("actions/"):
        state.write(info.key, [b""])
    act, _, calls = make(state)
    act(STOP)
    assert [operation for operation, _ in calls] == ["stop_training_job"]


def test_actions_with_other_parameters_have_tokens_of_their_own():
    """Two recipients both get their message."""
    options = ActionOptions(topic_arn="arn:aws:sns:us-east-1:1:topic")
    act, _, calls = make(MemoryBackend(), options)
    act(EMAIL)
    act({**EMAIL, "endpoint": "you@example.com"})
    assert len(calls) == 2


def test_action_when_it_fails_then_the_outcome_says_why():
    """The error reaches the rule, which logs it."""
    state = MemoryBackend()
    act, record, _ = make(state, error=PermissionError("denied"))
    with pytest.raises(PermissionError):
        act(STOP)
    assert record.actions == [{"name": "stoptraining", "outcome": "failed: PermissionError: denied"}]
    assert b"denied" in state.read(state.list("actions/")[0].key)
