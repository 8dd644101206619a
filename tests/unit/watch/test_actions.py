"""Actions of a watched job are carried out once."""

import botocore.exceptions
import pytest

from sagemaker_debug_ext.config.job_spec import ActionOptions
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.watch.actions import JobActions
from sagemaker_debug_ext.watch.evaluation import RuleRecord

STOP = {"name": "stoptraining", "training_job_prefix": ""}
DIRECT = ActionOptions()
EMAIL = {"name": "email", "endpoint": "me@example.com"}


class Client:
    """Records the calls of every AWS client, which fail at first if there are errors."""

    def __init__(self, calls, errors=()):
        self._calls = calls
        self._errors = list(errors)

    def __getattr__(self, operation):
        def call(**members):
            self._calls.append((operation, members))
            if self._errors:
                raise self._errors.pop(0)
            return {}

        return call


def make(state, options=DIRECT, asked=None, errors=(), pauses=None):
    """Return a function that carries out an action, the record of its rule and the calls of clients."""
    calls = []
    record = RuleRecord({"RuleConfigurationName": "VanishingGradient"})
    ask = None if asked is None else asked.append
    client = Client(calls, errors)
    sleep = ([] if pauses is None else pauses).append
    actions = JobActions("digits-1", state, options, ask, lambda _: client, sleep=sleep)
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
    act, record, _ = make(state, errors=[PermissionError("denied")] * 4)
    with pytest.raises(PermissionError):
        act(STOP)
    assert record.actions == [{"name": "stoptraining", "outcome": "failed: PermissionError: denied"}]
    assert b"denied" in state.read(state.list("actions/")[0].key)


def test_webhook_when_its_address_is_refused_then_no_outcome_holds_it():
    """Outcomes are part of ``status.json``, which every reader of the job may see."""
    state = MemoryBackend()
    act, record, _ = make(state)
    with pytest.raises(SMDebugValueError):
        act({"name": "webhook", "url": "https://me:s3cret@example.com/hook"})
    assert "https://example.com/…" in record.actions[0]["outcome"]
    written = [bytes(state.read(info.key)) for info in state.list("actions/")]
    assert "s3cret" not in str(record.actions) + str(written)


def refusal(code):
    """Return the error that a client of AWS raises."""
    return botocore.exceptions.ClientError({"Error": {"Code": code, "Message": "no"}}, "StopTrainingJob")


def test_stop_when_it_is_throttled_then_is_repeated_with_growing_pauses():
    """The script was asked at once; a missing right is not waited for."""
    asked, pauses = [], []
    act, record, calls = make(MemoryBackend(), asked=asked, errors=[refusal("ThrottlingException")] * 3, pauses=pauses)
    act(STOP)
    assert pauses == [5, 20, 60]
    assert len(calls) == 4
    assert asked == ["VanishingGradient"]
    assert record.actions == [{"name": "stoptraining", "outcome": "done"}]
    for code, num_calls in (("ThrottlingException", 4), ("AccessDeniedException", 1)):
        act, record, calls = make(MemoryBackend(), errors=[refusal(code)] * 4)
        with pytest.raises(botocore.exceptions.ClientError):
            act(STOP)
        assert len(calls) == num_calls
        assert record.actions[0]["outcome"].startswith(f"failed: ClientError: An error occurred ({code})")
