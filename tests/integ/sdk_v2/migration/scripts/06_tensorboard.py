"""TensorBoard data."""
# ruff: noqa: F821

from sagemaker.debugger import TensorBoardOutputConfig
from sagemaker.tensorflow import TensorFlow

estimator = TensorFlow(
    entry_point="train.py",
    role=role,
    instance_type="ml.p3.2xlarge",
    instance_count=1,
    framework_version="2.11",
    py_version="py39",
    tensorboard_output_config=TensorBoardOutputConfig(
        s3_output_path="s3://my-bucket/tb", container_local_output_path="/tb-logs"
    ),
    sagemaker_session=session,
)
estimator.fit(wait=False, job_name="tensorboard")
print(estimator.latest_job_tensorboard_artifacts_path())
