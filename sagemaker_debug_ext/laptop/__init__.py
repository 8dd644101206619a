"""SageMaker on this machine: a server that speaks its API, so that unmodified scripts submit jobs to this machine.

`server` puts the operations on training jobs in front of moto's server, which answers for S3, STS, logs and all other
services. The jobs run in the local runner.
"""

from __future__ import annotations

from sagemaker_debug_ext.laptop.jobs.training import TrainingJobs
from sagemaker_debug_ext.laptop.server import LaptopServer

__all__ = ["LaptopServer", "TrainingJobs"]
