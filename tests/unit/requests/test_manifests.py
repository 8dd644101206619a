"""Manifests of self-managed jobs on other clusters."""

from __future__ import annotations

import json
import subprocess

import jsonschema
import pytest

from sagemaker_debug_ext import Rule, SelfManaged, rule_configs
from sagemaker_debug_ext.cli.main import main
from sagemaker_debug_ext.config.job_spec import decode_job_spec, job_name
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.requests import debugger_request
from sagemaker_debug_ext.requests.manifests import MANIFESTS, manifest
from sagemaker_debug_ext.requests.self_managed import self_managed_request

COMMAND = ["python", "train.py", "--note", "two words"]
VARIABLES = self_managed_request(
    {"OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}},
    rules=[Rule.sagemaker(rule_configs.exploding_tensor())],
)["Environment"]


def closed(required, **properties):
    """Return the schema of an object with no other members than these."""
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


TEXT = {"type": "string", "minLength": 1}
TEXTS = {"type": "array", "items": {"type": "string"}, "minItems": 1}
LABEL = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
META = closed(["name"], name=LABEL)
ENV = {"type": "array", "items": closed(["name", "value"], name=TEXT, value={"type": "string"})}
CONTAINER = closed(["name", "image"], name=LABEL, image=TEXT, command=TEXTS, env=ENV)
CONTAINERS = {"type": "array", "items": CONTAINER, "minItems": 1}
POD = closed(
    ["containers"],
    containers=CONTAINERS,
    restartPolicy={"enum": ["Always", "OnFailure", "Never"]},
    terminationGracePeriodSeconds={"type": "integer", "minimum": 0},
)
JOB_POD = {**POD, "properties": {**POD["properties"], "restartPolicy": {"enum": ["OnFailure", "Never"]}}}
SPECS = {
    "job": closed(["template"], backoffLimit={"type": "integer"}, template=closed(["spec"], spec=JOB_POD)),
    "trainjob": closed(
        ["runtimeRef"],
        runtimeRef=closed(["name"], name=LABEL, kind=TEXT, apiGroup=TEXT),
        trainer=closed([], image=TEXT, command=TEXTS, env=ENV),
    ),
    "rayjob": closed(
        ["entrypoint", "rayClusterSpec"],
        entrypoint=TEXT,
        runtimeEnvYAML=TEXT,
        shutdownAfterJobFinishes={"type": "boolean"},
        rayClusterSpec=closed(
            ["headGroupSpec"],
            headGroupSpec=closed(
                ["rayStartParams", "template"],
                rayStartParams={"type": "object", "additionalProperties": {"type": "string"}},
                template=closed(["spec"], spec=POD),
            ),
        ),
    ),
}
"""The members that a manifest may have, as the interfaces of the kinds name them; required ones as there."""
KINDS = {
    "job": ("batch/v1", "Job"),
    "trainjob": ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    "rayjob": ("ray.io/v1", "RayJob"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_manifest_when_made_then_has_the_members_of_its_kind(kind):
    """A member that is misspelt or in the wrong place is ignored or refused by a cluster."""
    version, name = KINDS[kind]
    schema = closed(
        ["apiVersion", "kind", "metadata", "spec"],
        apiVersion={"const": version},
        kind={"const": name},
        metadata=META,
        spec=SPECS[kind],
    )
    made = json.loads(manifest(kind, "digits-1", "my/train:1", COMMAND, VARIABLES))
    jsonschema.Draft202012Validator(schema).validate(made)


def environment_of(kind, made):
    """Return the variables that a container gets from a manifest."""
    if kind == "rayjob":
        return json.loads(made["spec"]["runtimeEnvYAML"])["env_vars"]
    if kind == "trainjob":
        env = made["spec"]["trainer"]["env"]
    else:
        (container,) = made["spec"]["template"]["spec"]["containers"]
        env = container["env"]
    assert all(set(entry) == {"name", "value"} for entry in env)
    return {entry["name"]: entry["value"] for entry in env}


@pytest.mark.parametrize("kind", ["job", "trainjob", "rayjob"])
def test_manifest_when_for_kubernetes_then_its_container_finds_the_settings(kind):
    """The hook and the watcher read them as on SageMaker."""
    made = json.loads(manifest(kind, "digits-1", "my/train:1", COMMAND, VARIABLES))
    environ = environment_of(kind, made)
    assert job_name(environ) == "digits-1"
    assert decode_job_spec(environ).rules[0]["RuleConfigurationName"] == "ExplodingTensor"
    assert made["metadata"] == {"name": "digits-1"}
    assert "my/train:1" in json.dumps(made)


def test_manifest_when_for_slurm_then_the_shell_gives_the_settings_to_the_command(tmp_path):
    """A real shell runs the script; srun is one that shows what it gets."""
    srun = tmp_path / "srun"
    srun.write_text('#!/bin/sh\nenv > environ\nfor word in "$@"; do echo "$word"; done\n')
    srun.chmod(0o755)
    text = manifest("sbatch", "digits-1", "", COMMAND, VARIABLES)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_JOB_NAME": "digits-1", "SLURM_JOB_ID": "7"}
    output = subprocess.run(
        ["/bin/bash"], input=text, env=environ, cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert output.stdout.splitlines() == COMMAND
    seen = dict(line.split("=", 1) for line in (tmp_path / "environ").read_text().splitlines())
    assert job_name(seen) == "digits-1-7"
    assert decode_job_spec(seen).rules
    assert "#SBATCH --job-name=digits-1" in text.splitlines()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "trainjobs"}, "kind must be one of job, trainjob, rayjob, sbatch .*did you mean 'trainjob'"),
        ({"name": "Digits"}, "name must be 1 to 63 lower-case letters.*'Digits'"),
        ({"image": ""}, "image must name"),
        ({"command": []}, "command must hold"),
        ({"account": "A"}, "name must be 1 to 63 lower-case letters.*'A'"),
        ({"account": "a", "kind": "trainjob"}, "account must be left out for trainjob"),
    ],
)
def test_manifest_when_an_argument_is_wrong_then_names_it(changes, message):
    """With what is allowed and what came."""
    arguments = {"kind": "job", "name": "a", "image": "b", "command": ["c"], "variables": {}, **changes}
    with pytest.raises(SMDebugValueError, match=message):
        manifest(**arguments)


@pytest.mark.parametrize("kind", sorted(MANIFESTS))
def test_command_when_given_a_request_then_prints_the_manifest(kind, tmp_path, capsys):
    """The file is that of `self-managed env`."""
    rules = [Rule.sagemaker(rule_configs.exploding_tensor())]
    members = debugger_request(job_name="x", region="us-east-1", output_path="s3://my-bucket/output", rules=rules)
    path = tmp_path / "request.json"
    path.write_text(json.dumps(members))
    words = ["self-managed", "manifest", kind, str(path), "--name", "digits-1", "--image", "my/train:1", "--", *COMMAND]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "SAGEMAKER_DEBUG_EXT_JOB_0" in printed
    assert "two words" in printed


def test_job_when_the_watcher_has_a_container_of_its_own_then_it_is_a_sidecar():
    """With the variables of the job; in other places there is none."""
    found = {}
    for place in ("container", "pod"):
        variables = self_managed_request(
            {"OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}},
            rules=[Rule.sagemaker(rule_configs.exploding_tensor())],
            self_managed=SelfManaged(place=place),
        )["Environment"]
        found[place] = json.loads(manifest("job", "digits-1", "image", COMMAND, variables))["spec"]["template"]["spec"]
    assert "initContainers" not in found["container"]
    (watcher,) = found["pod"]["initContainers"]
    assert watcher["restartPolicy"] == "Always"
    assert watcher["command"][-2:] == ["--place", "pod"]
    assert watcher["env"] == found["pod"]["containers"][0]["env"]
    assert {"name": "SAGEMAKER_DEBUG_EXT_CLUSTER", "value": "kubernetes:jobs/digits-1"} in watcher["env"]


def test_rights_when_printed_then_are_those_of_one_account_to_look_at_and_suspend_jobs(capsys):
    """The account of the pod is bound to them, and nothing else is allowed."""
    assert main(["self-managed", "rbac", "job", "--account", "trainer", "--job", "digits-1"]) == 0
    made = json.loads(capsys.readouterr().out)
    account, role, binding = made["items"]
    assert (made["apiVersion"], made["kind"]) == ("v1", "List")
    rule = {"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": ["digits-1"], "verbs": ["get", "patch"]}
    assert role["rules"] == [rule]
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "trainer"}
    assert binding["subjects"] == [{"kind": account["kind"], "name": account["metadata"]["name"]}]
    job = json.loads(manifest("job", "digits-1", "image", COMMAND, VARIABLES, account="trainer"))
    assert job["spec"]["template"]["spec"]["serviceAccountName"] == account["metadata"]["name"]
    assert main(["self-managed", "rbac", "jobs"]) == 2
    assert "kind must be one of job, trainjob (got 'jobs')" in capsys.readouterr().err
