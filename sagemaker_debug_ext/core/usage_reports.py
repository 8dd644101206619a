"""What notebooks for the profiler call to report their use to AWS. This package sends nothing."""

from __future__ import annotations

from typing import Final

from sagemaker_debug_ext.core.utils import get_aws_region_from_processing_job_arn

PROFILER_REPORT_VERSION: Final = "profiler_report_v1"
PROFILER_TELEMETRY_URL: Final = "https://sm-profiler-report-{region}.s3.{region}.amazonaws.com"


def telemetry_url(processing_job_arn: str) -> str:
    """Return the address by which smdebug reports the use of a processing job."""
    url = PROFILER_TELEMETRY_URL.format(region=get_aws_region_from_processing_job_arn(processing_job_arn))
    return f"{url}/?x-artifact-id={PROFILER_REPORT_VERSION}&x-arn={processing_job_arn}"


def setup_profiler_report(processing_job_arn: str, opt_out: bool = False) -> None:
    """Send nothing, as smdebug does if `opt_out` is true."""
    del processing_job_arn, opt_out
