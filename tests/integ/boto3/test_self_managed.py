"""Self-managed jobs through plain clients: what is sent, and what is described."""

from __future__ import annotations

import datetime as dt
import json
import os
import types

import pytest

from sagemaker_debug_ext import Rule, SelfManaged, StopTraining, rule_configs, self_managed_request
from sagemaker_debug_ext._s3_urls import KMS_VARIABLE
from sagemaker_debug_ext.cli.main import main
from sagemaker_debug_ext.config.job_spec import JobSpec, decode_job_spec, encode_job_spec
from sagemaker_debug_ext.errors import RequestValidationError, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.requests.self_managed import spec_of_members
from sagemaker_debug_ext.sdk import TrainingJob, _watching, attach_debugger, debugger_request, set_default_mode
from sagemaker_debug_ext.sdk.self_managed import with_rule_statuses
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.backends.s3 import S3Options
from sagemaker_debug_ext.store.job_end import has_ended
from sagemaker_debug_ext.watch.program import EXIT_DONE
from support.aws import recorded_requests

RULES = [Rule.sagemaker(rule_configs.vanishing_gradient(), actions=StopTraining())]
NOW = dt.datetime(2026, 11, 23, 12, tzinfo=dt.timezone.utc)


@pytest.fixture
def session(aws):
    return aws.session()


def test_attached_session_adds_the_environment_and_nothing_else(session, request_members):
    """The request is the one that `self_managed_request` makes."""
    with recorded_requests(session) as requests, attach_debugger(session, rules=RULES, self_managed=True):
        session.client("sagemaker").create_training_job(**{**request_members, "TrainingJobName": "own"})
    expected = self_managed_request({**request_members, "TrainingJobName": "own"}, rules=RULES)
    assert requests == [expected]


def test_attached_session_when_the_request_has_members_then_replaces_them_only_if_asked(session, request_members):
    """Estimators of SDK v2 always send some."""
    request = {**request_members, "DebugHookConfig": {"S3OutputPath": "s3://my-bucket/other"}}
    with recorded_requests(session) as requests:
        with attach_debugger(session, rules=RULES, self_managed=True):
            session.client("sagemaker").create_training_job(**{**request, "TrainingJobName": "kept"})
        with attach_debugger(session, rules=RULES, self_managed=True, replace=True):
            session.client("sagemaker").create_training_job(**{**request, "TrainingJobName": "replaced"})
    assert "Environment" not in requests[0]
    assert "DebugHookConfig" in requests[0]
    assert decode_job_spec(requests[1]["Environment"]).hook["S3OutputPath"] == "s3://my-bucket/out"
    assert "DebugHookConfig" not in requests[1]


@pytest.mark.parametrize("member", ["TrainingJobDefinition", "TrainingJobDefinitions"])
def test_attached_session_reaches_the_jobs_of_tuning_jobs(session, request_members, member):
    """Tuning never had Debugger settings."""
    definition = {
        "StaticHyperParameters": {},
        "AlgorithmSpecification": request_members["AlgorithmSpecification"],
        **{
            name: request_members[name]
            for name in ("RoleArn", "ResourceConfig", "OutputDataConfig", "StoppingCondition")
        },
    }
    request = {
        "HyperParameterTuningJobName": f"tune-{member[-1]}",
        "HyperParameterTuningJobConfig": {
            "Strategy": "Random",
            "ResourceLimits": {"MaxParallelTrainingJobs": 1},
        },
        member: definition if member == "TrainingJobDefinition" else [definition],
    }
    with (
        recorded_requests(session, "CreateHyperParameterTuningJob") as requests,
        attach_debugger(session, rules=RULES, self_managed=SelfManaged(tag=True)),
    ):
        session.client("sagemaker").create_hyper_parameter_tuning_job(**request)
    assert requests[0]["Tags"] == [{"Key": "sagemaker-debug-ext", "Value": "stop-allowed"}]  # its jobs get them
    sent = requests[0][member]
    environment = (sent if member == "TrainingJobDefinition" else sent[0])["Environment"]
    assert decode_job_spec(environment).rules[0]["RuleConfigurationName"] == "VanishingGradient"
    full = {**definition, "Environment": {f"V{i}": "" for i in range(47)}}
    with (
        attach_debugger(session, rules=RULES, self_managed=True),
        pytest.raises(RequestValidationError, match=r"at most 48 entries .got 49"),
    ):
        session.client("sagemaker").create_hyper_parameter_tuning_job(
            **{**request, member: full if member[-1] == "n" else [full]}
        )


def test_mode_when_it_is_set_for_the_process_then_jobs_follow_unless_they_say_otherwise(
    session, request_members, monkeypatch
):
    """By a call or by an environment variable, of which the call wins."""

    def is_self_managed(**settings):
        with recorded_requests(session) as requests, attach_debugger(session, rules=RULES, **settings):
            session.client("sagemaker").create_training_job(**{**request_members, "TrainingJobName": "mode"})
        return "DebugHookConfig" not in requests[0]

    monkeypatch.setattr("sagemaker_debug_ext.sdk.self_managed._default_mode", None)
    assert not is_self_managed()
    monkeypatch.setenv("SAGEMAKER_DEBUG_EXT_MODE", "self-managed")
    assert is_self_managed()
    assert not is_self_managed(self_managed=False)
    assert set_default_mode("service") == "self-managed"
    assert not is_self_managed()
    assert is_self_managed(self_managed=True)
    monkeypatch.setattr("sagemaker_debug_ext.sdk.self_managed._default_mode", None)
    monkeypatch.setenv("SAGEMAKER_DEBUG_EXT_MODE", "selfmanaged")
    with pytest.raises(SMDebugValueError, match="SAGEMAKER_DEBUG_EXT_MODE must be service or self-managed"):
        attach_debugger(session)
    with pytest.raises(SMDebugValueError, match="mode must be service or self-managed"):
        set_default_mode("none")
    assert set_default_mode("self-managed") == "service"
    assert is_self_managed()


def test_attach_when_self_managed_is_no_setting_then_is_refused(session):
    """Before any job is sent."""
    with pytest.raises(SMDebugTypeError, match="self_managed must be True, False or a SelfManaged"):
        attach_debugger(session, self_managed="yes")


def sent(client, event, call, **arguments):
    """Return the body of a request, which nobody answers."""
    bodies = []

    def answer(params, **_):
        bodies.append(json.loads(params["body"]))
        return types.SimpleNamespace(status_code=200), {}

    client.meta.events.register(event, answer)
    try:
        call(**arguments)
    finally:
        client.meta.events.unregister(event, answer)
    return bodies[0]


def submitted(session, payload, job_type="SAGEMAKER_TRAINING"):
    """Return the payload that Batch gets."""
    client = session.client("batch")
    arguments = {"jobName": "j", "jobQueue": "q", "serviceJobType": job_type, "serviceRequestPayload": payload}
    body = sent(client, "before-call.batch.SubmitServiceJob", client.submit_service_job, **arguments)
    return body["serviceRequestPayload"]


def test_attached_session_reaches_the_job_in_a_payload_of_batch(session, request_members):
    """The payload is that of a request by itself; after detaching it stays."""
    if not hasattr(session.client("batch"), "submit_service_job"):
        pytest.skip("this boto3 does not know training jobs of Batch")
    request = {**request_members, "TrainingJobName": "queued"}
    with attach_debugger(session, rules=RULES, self_managed=True) as attached:
        assert json.loads(submitted(session, json.dumps(request))) == self_managed_request(request, rules=RULES)
        with pytest.raises(SMDebugValueError, match="serviceRequestPayload must be JSON"):
            submitted(session, "no JSON")
        assert submitted(session, "{}", "OTHER") == "{}"
        attached.detach()
        assert json.loads(submitted(session, json.dumps(request))) == request


def test_attached_session_reaches_the_steps_of_pipelines(session, request_members, caplog):
    """Training and tuning steps, also in branches; steps whose output path is an expression are named and stay."""
    job = {name: value for name, value in request_members.items() if name != "TrainingJobName"}
    own = {"Name": "own", "Type": "Training", "Arguments": job}
    tuning = {"Name": "tune", "Type": "Tuning", "Arguments": {"TrainingJobDefinition": job}}
    late_job = {**job, "OutputDataConfig": {"S3OutputPath": {"Get": "Parameters.Output"}}}
    late = {"Name": "late", "Type": "Training", "Arguments": late_job}
    branch = {"Name": "if", "Type": "Condition", "Arguments": {"IfSteps": [own], "ElseSteps": [tuning, late]}}
    other = {"Name": "process", "Type": "Processing", "Arguments": {"Environment": {}}}
    definition = {"Version": "2020-12-01", "Parameters": [], "Steps": [branch, other]}
    changed = self_managed_request(job, rules=RULES)
    branches = {
        "IfSteps": [{**own, "Arguments": changed}],
        "ElseSteps": [{**tuning, "Arguments": {"TrainingJobDefinition": changed}}, late],
    }
    with attach_debugger(session, rules=RULES, self_managed=True):
        client = session.client("sagemaker")
        event = "before-call.sagemaker.UpdatePipeline"
        call = client.update_pipeline
        body = sent(client, event, call, PipelineName="p", PipelineDefinition=json.dumps(definition))
    assert json.loads(body["PipelineDefinition"]) == {**definition, "Steps": [{**branch, "Arguments": branches}, other]}
    assert "step 'late' is not changed" in caplog.text


def described(name, **members):
    """Return the response for a self-managed job."""
    request = {"TrainingJobName": name, "OutputDataConfig": {"S3OutputPath": "s3://my-bucket/out"}}
    return {
        **self_managed_request(request, rules=RULES),
        "TrainingJobStatus": "InProgress",
        "TrainingStartTime": NOW - dt.timedelta(minutes=20),
        **members,
    }


def report(name, status, heartbeat=NOW):
    """Leave the report of a watcher."""
    content = {
        "watcher": {"heartbeat_at": heartbeat.isoformat()},
        "rules": [
            {
                "RuleConfigurationName": "VanishingGradient",
                "RuleEvaluationStatus": status,
                "StatusDetails": "vanished",
                "LastModifiedTime": NOW.isoformat(),
                "num_issues": 1,
            }
        ],
    }
    open_backend(f"s3://my-bucket/out/{name}/self-managed").write("status.json", [json.dumps(content).encode()])


def test_description_of_a_self_managed_job_is_that_of_the_service(aws):
    """Code that reads rules, paths and settings of jobs works for both kinds."""
    report("watched", "IssuesFound")
    job = TrainingJob(with_rule_statuses(described("watched"), NOW))
    assert job.artifact_paths.debugger == "s3://my-bucket/out/watched/debug-output"
    assert [(rule.name, rule.status, rule.details) for rule in job.rules] == [
        ("VanishingGradient", "IssuesFound", "vanished")
    ]
    assert job.rule_output_path("VanishingGradient") == "s3://my-bucket/out/watched/rule-output/VanishingGradient"
    assert set(job.description["DebugRuleEvaluationStatuses"][0]) == {
        "RuleConfigurationName",
        "RuleEvaluationStatus",
        "StatusDetails",
        "LastModifiedTime",
    }


def test_description_when_no_watcher_has_reported_then_says_so(aws):
    """Ten minutes after training has started."""
    rules = TrainingJob(with_rule_statuses(described("unwatched"), NOW)).rules
    assert rules["VanishingGradient"].status == "InProgress"
    assert "no watcher has reported" in rules["VanishingGradient"].details


def test_description_of_another_job_is_unchanged():
    """And no request goes to S3."""
    description = {"TrainingJobName": "plain", "TrainingJobStatus": "Completed"}
    assert with_rule_statuses(description) == description


class Job:
    """A job that can describe itself."""

    def __init__(self, description):
        self._description = description

    def describe(self):
        return self._description


def test_describe_takes_jobs_that_describe_themselves(aws):
    """Such as those of the SDK; a refresh reads the statuses again."""
    now = dt.datetime.now(dt.timezone.utc)
    report("own", "InProgress", now)
    job = TrainingJob.describe(Job(described("own")))
    assert not job.rules.are_final
    report("own", "NoIssuesFound", now)
    assert job.refresh().rules.are_final


@pytest.fixture
def request_file(tmp_path):
    """A file with the members for a job with a rule, and the variables for it."""
    members = debugger_request(job_name="j", region="us-east-1", output_path="s3://my-bucket/out", rules=RULES)
    path = tmp_path / "request.json"
    path.write_text(json.dumps(members))
    return str(path), encode_job_spec(spec_of_members(members))


def test_command_env_prints_variables_for_shell_json_and_yaml(request_file, capsys):
    """Each form says the same."""
    path, variables = request_file
    assert main(["self-managed", "env", path]) == 0
    assert (
        dict(line.removeprefix("export ").split("=", 1) for line in capsys.readouterr().out.splitlines()) == variables
    )
    assert main(["self-managed", "env", "--json", path]) == 0
    assert json.loads(capsys.readouterr().out) == variables
    assert main(["self-managed", "env", "--yaml", path]) == 0
    (name, value), *_ = variables.items()
    assert capsys.readouterr().out.splitlines()[0] == f'- {{name: {name}, value: "{value}"}}'


def test_command_env_when_a_channel_is_asked_for_then_uploads_the_settings(aws, request_file, capsys):
    """What to add to the request is told apart from the variables."""
    assert main(["self-managed", "env", "--channel", "--json", request_file[0]]) == 0
    printed = capsys.readouterr()
    (value,) = json.loads(printed.out).values()
    assert value.endswith(".channel")
    channel = json.loads(printed.err.partition("InputDataConfig: ")[2])
    bucket, _, key = channel["DataSource"]["S3DataSource"]["S3Uri"].removeprefix("s3://").partition("/")
    content = aws.session().client("s3").get_object(Bucket=bucket, Key=f"{key}job.json")["Body"].read()
    assert content.decode() == decode_job_spec(request_file[1]).to_json()


def test_command_show_prints_the_settings_of_this_environment(request_file, capsys, monkeypatch):
    """For people who wonder what a job was given."""
    for name, value in request_file[1].items():
        monkeypatch.setenv(name, value)
    assert main(["self-managed", "show"]) == 0
    assert json.loads(capsys.readouterr().out)["rules"][0]["RuleConfigurationName"] == "VanishingGradient"


@pytest.mark.parametrize(
    ("content", "message"), [("{", "must hold JSON"), ("{}", "JSON object with DebugHookConfig"), ("[]", "JSON object")]
)
def test_command_env_when_the_file_is_no_request_then_says_so(content, message, tmp_path, capsys):
    """With the name of the file."""
    path = tmp_path / "request.json"
    path.write_text(content)
    assert main(["self-managed", "env", str(path)]) == 2
    assert message in capsys.readouterr().err


def test_command_show_when_there_are_no_settings_then_says_how_to_set_them(capsys):
    """In one sentence."""
    assert main(["self-managed", "show"]) == 2
    assert "self-managed env" in capsys.readouterr().err


@pytest.fixture
def folder(tmp_path):
    """The folder of a job without rules, which SageMaker does not describe; its hook has marked no end."""
    spec = JobSpec(hook={"S3OutputPath": str(tmp_path), "LocalPath": str(tmp_path)}, ship="folder")
    state = tmp_path / "digits-1" / "self-managed"
    state.mkdir(parents=True)
    (state / "spec.json").write_text(spec.to_json())
    return tmp_path / "digits-1"


def test_watch_when_only_the_folder_is_known_then_the_trial_is_not_marked_as_ended(folder, capsys):
    """The job may still run; only `resume`, or the caller, says that it has ended."""
    trial = open_backend(str(folder / "debug-output"))
    TrainingJob.describe(str(folder)).watch()
    assert main(["self-managed", "watch", str(folder)]) == 0
    assert not has_ended(trial)
    assert main(["self-managed", "resume", str(folder)]) == 0
    assert has_ended(trial)


@pytest.mark.parametrize("own", [None, "alias/own"])
def test_watch_when_jobs_name_different_keys_then_each_is_written_with_its_own(own, monkeypatch):
    """The key of a job is that of no other, and gone after it; a job without one uses that of the process."""
    if own is None:
        monkeypatch.delenv(KMS_VARIABLE, raising=False)
    else:
        monkeypatch.setenv(KMS_VARIABLE, own)
    used = []
    monkeypatch.setattr(_watching, "watch", lambda *_, **__: used.append(S3Options().kms_key_id) or EXIT_DONE)
    for key in ("alias/first", "alias/second", None):
        made = self_managed_request(
            {"TrainingJobName": "j", "OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}},
            self_managed=SelfManaged(place="here", kms_key_id=key),
        )
        TrainingJob({**made, "TrainingJobStatus": "InProgress"}).watch()
    assert used == ["alias/first", "alias/second", own]
    assert os.environ.get(KMS_VARIABLE) == own
