"""Two processes as the instances of a Processing job, over a trial on S3, merging through S3."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np

from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext.config import Rule
from sagemaker_debug_ext.requests.processing import processing_job_request
from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

HOSTS = ("algo-1", "algo-2")


def lay_out(folder, host, request, s3_client, bucket):
    """Write the files that SageMaker gives an instance, and fetch its share of the inputs."""
    described = {**request}
    for processing_input in described["ProcessingInputs"]:
        given = processing_input["S3Input"]
        given["LocalPath"] = str(folder / processing_input["InputName"])
        prefix = given["S3Uri"].removeprefix(f"s3://{bucket}/")
        found = s3_client.list_objects_v2(Bucket=bucket, Prefix=prefix)["Contents"]
        keys = sorted(item["Key"] for item in found)
        for key in keys[HOSTS.index(host) :: 2] if given["S3DataDistributionType"] == "ShardedByS3Key" else keys:
            target = folder / processing_input["InputName"] / key[len(prefix) :]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(s3_client.get_object(Bucket=bucket, Key=key)["Body"].read())
    described["ProcessingOutputConfig"]["Outputs"][0]["S3Output"]["LocalPath"] = str(folder / "output")
    (folder / "config").mkdir()
    (folder / "config" / "processingjobconfig.json").write_text(json.dumps(described))
    (folder / "config" / "resourceconfig.json").write_text(json.dumps({"current_host": host, "hosts": HOSTS}))


def test_two_instances_evaluate_a_trial_on_s3_and_the_first_writes_the_results(
    tmp_path, s3_server, s3_client, bucket, upload
):
    """As the request says, with the steps dealt out by S3 key."""
    steps = {(ModeKeys.TRAIN, step): {"gradient/w": np.ones(3) * (step % 4 > 0), "loss": 1.0} for step in range(12)}
    write_trial(tmp_path / "trial", steps)
    upload(tmp_path / "trial", bucket, "run1")
    request = processing_job_request(
        job_name="evaluate",
        image_uri="image",
        role_arn="arn:aws:iam::123456789012:role/evaluate",
        trial_path=f"s3://{bucket}/run1",
        output_path=f"s3://{bucket}/evaluation",
        rules=[
            Rule.sagemaker(rule_configs.vanishing_gradient()),
            Rule.sagemaker(rule_configs.loss_not_decreasing(), rule_parameters={"num_steps": 3}),
        ],
        instance_count=2,
    )
    text = json.dumps(request)
    processes = []
    for host in HOSTS:
        lay_out(tmp_path / host, host, json.loads(text), s3_client, bucket)
        application = request["AppSpecification"]
        command = [sys.executable, *application["ContainerEntrypoint"][1:], *application["ContainerArguments"]]
        environment = {**os.environ, "AWS_ENDPOINT_URL": "http://{}:{}".format(*s3_server)}
        command += ["--config-folder", str(tmp_path / host / "config")]
        processes.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
    ends = [(process.communicate(timeout=120)[1], process.returncode) for process in processes]
    assert [code for _, code in ends] == [0, 0], ends
    result = json.loads((tmp_path / "algo-1" / "output" / "VanishingGradient" / "rule-result.json").read_text())
    assert [issue["step"] for issue in result["issues"]] == [0, 4, 8]
    assert (result["status"], result["num_steps"]) == ("IssuesFound", 12)
    summary = json.loads((tmp_path / "algo-1" / "output" / "summary.json").read_text())
    assert [status["status"] for status in summary["statuses"]] == ["IssuesFound", "IssuesFound"]
    left = s3_client.list_objects_v2(Bucket=bucket, Prefix="evaluation/")["Contents"]
    assert [item["Key"] for item in left] == ["evaluation/parts/algo-1.json", "evaluation/parts/algo-2.json"]
