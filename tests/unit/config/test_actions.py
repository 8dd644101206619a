"""Actions: which are accepted, and how they are written and read."""

import functools
import json

import pytest
import smdebug_rulesconfig as original
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.config.actions import (
    SMS,
    ActionList,
    Email,
    StopTraining,
    is_valid_action_object,
    parse_actions,
    to_actions,
)
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError

prefixes = st.from_regex(r"\A[A-Za-z0-9-]{1,20}\Z")
actions = st.one_of(
    st.builds(StopTraining, prefixes),
    st.builds(Email, st.from_regex(r"\A[A-Za-z0-9._%+-]{1,9}@([a-z0-9-]{1,5}\.){1,2}[a-z]{2,4}\Z")),
    st.builds(SMS, st.from_regex(r"\A\+[1-9][0-9]{1,14}\Z")),
)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (StopTraining("job-1"), original.StopTraining("job-1")),
        (Email("abc@abc.com"), original.Email("abc@abc.com")),
        (SMS("+4915112345678"), original.SMS("+4915112345678")),
        (
            ActionList(StopTraining("x"), Email("a@b.com")),
            original.ActionList(original.StopTraining("x"), original.Email("a@b.com")),
        ),
        (ActionList(), original.ActionList()),
    ],
)
def test_serialize_gives_the_original_librarys_text(ours, theirs):
    """Byte for byte, with the backslashes."""
    assert ours.serialize() == theirs.serialize()


def test_serialize_without_a_prefix_takes_the_jobs_name():
    """The prefix follows the job, and the action itself is not changed."""
    theirs = original.StopTraining()
    theirs.update_training_job_prefix_if_not_specified("job-7")
    action = StopTraining()
    assert action.serialize("job-7") == theirs.serialize()
    assert action == StopTraining()


def test_serialize_when_neither_prefix_nor_name_is_known_then_leaves_the_prefix_out():
    """A request needs it and is refused without; the text alone is that of the original."""
    assert StopTraining().serialize() == original.StopTraining().serialize()


@given(st.lists(actions, max_size=4))
def test_parse_actions_undoes_serialize(members):
    """What is written is read back, with or without the backslashes."""
    text = ActionList(*members).serialize()
    assert parse_actions(text) == tuple(members)
    assert parse_actions(text.replace("\\", "")) == tuple(members)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("{", "JSON"),
        ("[1]", "JSON object"),
        ('{"name": "stoptrainin"}', "did you mean 'stoptraining'"),
        ('{"name": "email"}', "'endpoint'"),
        ('{"name": "sms", "endpoint": "1"}', "E.164"),
    ],
)
def test_parse_actions_of_what_is_no_action_is_refused(text, match):
    """The error says what an action is."""
    with pytest.raises(SMDebugValueError, match=match):
        parse_actions(text)


def test_parse_actions_reads_names_in_any_case_and_keeps_the_prefix():
    """The container lower-cases names; those of jobs are case-sensitive."""
    assert parse_actions('{"name": "StopTraining", "training_job_prefix": "Job"}') == (StopTraining("Job"),)


@pytest.mark.parametrize(
    "address",
    ["abc@abc.com", "a1@x_y.org", "john.doe@example.com", "John@example.com", "a+b@c.com", "a@b.co.uk", "a@abc.info"],
)
def test_email_of_an_ordinary_address_is_accepted(address):
    """Also those that the original library refuses by mistake."""
    assert Email(address).email_address == address


@pytest.mark.parametrize(
    "address", ["", "abc", "a@b", "a@@b.com", "a b@c.com", "a@b.c", "a@b.com\n", '"@b.com', None, 5]
)
def test_email_of_no_address_is_refused(address):
    """What would not arrive, or would break the text, is no address."""
    with pytest.raises(SMDebugValueError, match=r"Email\.email_address"):
        Email(address)


@pytest.mark.parametrize(
    ("make", "error"),
    [(original.Email, ValueError), (functools.partial(Email, strict=True), SMDebugValueError)],
    ids=["original", "ours"],
)
@pytest.mark.parametrize("address", ["John@example.com", "a@b.co.uk", "john.doe@example.com"])
def test_email_in_strict_mode_is_refused_as_by_the_original(address, make, error):
    """The strict mode refuses the addresses that the original refuses."""
    with pytest.raises(error, match="email"):
        make(address)


@pytest.mark.parametrize("number", ["", "123", "+", "+0123", "+1234567890123456", "+12 34", "+12\n", None])
def test_sms_of_no_phone_number_is_refused(number):
    """Numbers are in E.164 form."""
    with pytest.raises(SMDebugValueError, match=r"SMS\.phone_number"):
        SMS(number)
    assert SMS("+0123", strict=True).phone_number == "+0123"


@pytest.mark.parametrize("prefix", ["", "a b", "a_b", "a\n", 5])
def test_stop_training_of_a_prefix_that_no_job_has_is_refused(prefix):
    """Names of jobs are letters, digits and hyphens."""
    with pytest.raises(SMDebugValueError, match=r"StopTraining\.training_job_prefix"):
        StopTraining(prefix)


def test_to_actions_reads_those_of_the_original_library():
    """Actions made with the original package are taken over; a prefix filled in for an old job is not."""
    stale = original.StopTraining()
    stale.update_training_job_prefix_if_not_specified("old-job")
    theirs = original.ActionList(stale, original.StopTraining("mine"), original.SMS("+4915"))
    assert to_actions(theirs) == ActionList(StopTraining(), StopTraining("mine"), SMS("+4915"))
    assert to_actions(original.Email("a@b.com")) == Email("a@b.com")
    assert to_actions(None) is None


@pytest.mark.parametrize("value", [[Email("a@b.com")], "stop", 5])
def test_to_actions_of_something_else_is_refused(value):
    """A plain list is not an ActionList."""
    with pytest.raises(SMDebugTypeError, match="ActionList"):
        to_actions(value)


def test_action_list_of_something_else_is_refused():
    """Its members are actions."""
    with pytest.raises(SMDebugTypeError, match="must hold actions"):
        ActionList("stop")


def test_is_valid_action_object_tells_actions_from_the_rest():
    """As in the original library."""
    assert is_valid_action_object(StopTraining())
    assert is_valid_action_object(ActionList())
    assert not is_valid_action_object(json)
