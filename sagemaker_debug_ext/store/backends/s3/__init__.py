"""Trials on S3, or on any server that speaks its protocol. Importing this package loads boto3."""

from __future__ import annotations

from sagemaker_debug_ext.store.backends.s3.backend import S3Backend
from sagemaker_debug_ext.store.backends.s3.options import S3Options

__all__ = ["S3Backend", "S3Options"]
