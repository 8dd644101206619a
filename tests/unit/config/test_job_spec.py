"""The job spec: what goes into the environment comes out again, and damage is named."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.config.job_channel import SPEC_FILE, channel_header
from sagemaker_debug_ext.config.job_spec import (
    MAX_VALUE_LENGTH,
    MAX_VARIABLES,
    ActionOptions,
    JobSpec,
    WatchOptions,
    decode_job_spec,
    encode_job_spec,
    job_name,
)
from sagemaker_debug_ext.errors import JobSpecError

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
MEMBERS = st.dictionaries(NAMES, NAMES, max_size=5)
RULES = st.lists(st.fixed_dictionaries({"RuleConfigurationName": NAMES, "RuleParameters": MEMBERS}), max_size=5)
HOOKS = st.fixed_dictionaries({"S3OutputPath": NAMES.map("s3://bucket/{}".format), "HookParameters": MEMBERS})

SPEC = JobSpec(
    hook={
        "S3OutputPath": "s3://bucket/team",
        "CollectionConfigurations": [
            {"CollectionName": f"c{i}", "CollectionParameters": {"include_regex": f"layer{i * 7919}.*"}}
            for i in range(200)
        ],
    }
)
"""A spec that takes several variables."""


@given(
    HOOKS,
    RULES,
    st.none() | HOOKS,
    st.none() | HOOKS,
    RULES,
    st.floats(0, 100),
    st.sampled_from(["direct", "cooperative", "off"]),
)
def test_spec_when_encoded_and_decoded_then_equals_itself(
    hook, rules, tensorboard, profiler, profiler_rules, drain, stop
):
    """Every setting survives, in variables that AWS takes."""
    spec = JobSpec(
        hook=hook,
        rules=tuple(rules),
        tensorboard=tensorboard,
        profiler=profiler,
        profiler_rules=tuple(profiler_rules),
        watch=WatchOptions(drain_seconds=drain),
        actions=ActionOptions(stop=stop),
    )
    variables = encode_job_spec(spec)
    assert all(len(value) <= MAX_VALUE_LENGTH and value.isascii() for value in variables.values())
    assert decode_job_spec({"PATH": "/bin", **variables}) == spec


def test_spec_when_members_are_in_another_order_then_variables_are_the_same():
    """Caches of pipelines compare requests as text."""
    first = JobSpec(hook={"S3OutputPath": "s3://b/p", "HookParameters": {"a": "1", "b": "2"}})
    second = JobSpec(hook={"HookParameters": {"b": "2", "a": "1"}, "S3OutputPath": "s3://b/p"})
    assert encode_job_spec(first) == encode_job_spec(second)


def test_environment_when_it_holds_no_spec_then_there_is_none():
    """Other jobs have no such variables."""
    assert decode_job_spec({"PATH": "/bin", "SAGEMAKER_DEBUG_EXT_JOB_NAME": "digits"}) is None


def test_variable_when_missing_then_is_named():
    """Each of them, also the first."""
    variables = encode_job_spec(SPEC)
    assert len(variables) > 2
    for name in variables:
        rest = {other: value for other, value in variables.items() if other != name}
        with pytest.raises(JobSpecError, match=f"{name} is missing"):
            decode_job_spec(rest)


@given(st.data())
def test_variable_when_changed_then_is_refused(data):
    """A cut, a swap and a changed character never give other settings."""
    variables = encode_job_spec(SPEC)
    name = data.draw(st.sampled_from(sorted(variables)))
    value = variables[name]
    at = data.draw(st.integers(0, len(value) - 1))
    changed = data.draw(st.sampled_from([value[:at], value[:at] + "!" + value[at + 1 :], value + "A"]))
    with pytest.raises(JobSpecError, match="SAGEMAKER_DEBUG_EXT_JOB_0"):
        decode_job_spec({**variables, name: changed})
    names = sorted(variables)
    with pytest.raises(JobSpecError, match="do not fit together"):
        decode_job_spec({**variables, names[1]: variables[names[2]], names[2]: variables[names[1]]})


def test_spec_when_it_is_too_large_then_says_how_large():
    """AWS Batch takes no more than 8,192 characters."""
    digest = "".join(f"{zlib.crc32(str(i).encode()):08x}" for i in range(4000))
    with pytest.raises(JobSpecError, match=rf"fit into {MAX_VARIABLES} environment variables .*got \d\d\)"):
        encode_job_spec(JobSpec(hook={"S3OutputPath": "s3://b/p", "HookParameters": {"include_regex": digest}}))


def test_spec_when_it_is_in_a_channel_then_is_read_there(tmp_path):
    """The toolkit names the folder; it is /opt/ml otherwise."""
    text = SPEC.to_json().encode()
    (tmp_path / SPEC_FILE).write_bytes(text)
    environ = {"SAGEMAKER_DEBUG_EXT_JOB_0": channel_header(text), "SM_CHANNEL_SAGEMAKER_DEBUG_EXT": str(tmp_path)}
    assert decode_job_spec(environ) == SPEC
    del environ["SM_CHANNEL_SAGEMAKER_DEBUG_EXT"]
    with pytest.raises(JobSpecError, match=r"/opt/ml/input/data/sagemaker_debug_ext/job\.json cannot be read"):
        decode_job_spec(environ)


@given(st.data())
def test_channel_when_its_file_was_changed_then_is_refused(data):
    """The variable holds a checksum."""
    text = SPEC.to_json().encode()
    at = data.draw(st.integers(0, len(text) - 1))
    changed = text[:at] + bytes([text[at] ^ data.draw(st.integers(1, 255))]) + text[at + 1 :]
    with pytest.raises(JobSpecError, match=r"job\.json of the input channel .* has changed"):
        decode_job_spec({"SAGEMAKER_DEBUG_EXT_JOB_0": channel_header(text)}, lambda: changed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "JSON object with the member 'hook'"),
        ("{", "must be JSON"),
        ('{"v": 1, "hook": {}}', "S3OutputPath"),
        ('{"v": 2, "hook": {"S3OutputPath": "s3://b/p"}}', "version 1.*got 2"),
    ],
)
def test_json_when_it_is_no_spec_then_says_what_is_wrong(text, message):
    """The message names the member."""
    with pytest.raises(JobSpecError, match=message):
        JobSpec.from_json(text)


def test_json_when_a_later_release_adds_options_then_they_are_ignored():
    """An old container evaluates what it knows."""
    text = '{"v": 1, "hook": {"S3OutputPath": "s3://b/p"}, "watch": {"drain_seconds": 5, "colour": "red"}}'
    assert JobSpec.from_json(text).watch == WatchOptions(drain_seconds=5)


def test_text_when_it_inflates_without_end_then_is_refused():
    """A spec is at most 1 MiB of JSON."""
    spec = JobSpec(hook={"S3OutputPath": "s3://b/p", "HookParameters": {"a": "x" * (2 << 20)}})
    with pytest.raises(JobSpecError, match="at most 1048576 bytes"):
        decode_job_spec(encode_job_spec(spec))


def test_locations_are_those_of_the_service():
    """So that everything that knows the paths of a job finds them."""
    spec = JobSpec(
        hook={"S3OutputPath": "s3://b/debug/"},
        rules=({"RuleConfigurationName": "A"}, {"RuleConfigurationName": "B", "S3OutputPath": "s3://other/"}),
        tensorboard={"S3OutputPath": "s3://b/tb"},
        output_path="s3://b/out",
    )
    assert spec.trial_location("job") == "s3://b/debug/job/debug-output"
    assert spec.state_location("job") == "s3://b/debug/job/self-managed"
    assert spec.tensorboard_location("job") == "s3://b/tb/job/tensorboard-output"
    assert spec.rule_locations("job") == {"A": "s3://b/out/job/rule-output/A", "B": "s3://other/job/rule-output/B"}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TRAINING_JOB_NAME": "a", "SAGEMAKER_DEBUG_EXT_JOB_NAME": "b"}, "a"),
        ({"SAGEMAKER_DEBUG_EXT_JOB_NAME": "b"}, "b"),
    ],
)
def test_job_name_is_that_of_the_platform_or_of_the_user(environ, expected):
    """The platform knows best."""
    assert job_name(environ) == expected


def test_job_name_when_there_is_none_then_names_both_variables():
    """So that the user knows which one to set."""
    with pytest.raises(JobSpecError, match=r"SAGEMAKER_DEBUG_EXT_JOB_NAME.*TRAINING_JOB_NAME"):
        job_name({})
