"""Names, suffixes and defaults of profiler files, as in ``smdebug.profiler.profiler_constants``."""

from __future__ import annotations

from typing import Final

DEFAULT_PREFIX: Final = "framework/pevents"
DEFAULT_SYSTEM_PROFILER_PREFIX: Final = "system"
TRACE_DIRECTORY_FORMAT: Final = "%Y%m%d%H"

PYTHONTIMELINE_SUFFIX: Final = "pythontimeline.json"
MODELTIMELINE_SUFFIX: Final = "model_timeline.json"
TENSORBOARDTIMELINE_SUFFIX: Final = "trace.json.gz"
HOROVODTIMELINE_SUFFIX: Final = "horovod_timeline.json"
SMDATAPARALLELTIMELINE_SUFFIX: Final = "smdataparallel_timeline.json"
MERGEDTIMELINE_SUFFIX: Final = "merged_timeline.json"

PT_DATALOADER_WORKER: Final = "DataLoaderWorker"
PT_DATALOADER_ITER: Final = "DataLoaderIter"
PT_DATALOADER_INITIALIZE: Final = "DataLoaderIterInitialize"
TF_DATALOADER_ITER: Final = "DataIterator"
LAUNCHED_AT: Final = "cpu_thread_start_time"
"""When the host started a kernel, in microseconds since 1970, among the facts of its event."""

ALLOCATED_BYTES: Final = "allocated_bytes"
"""What PyTorch had allocated on a GPU when a step ended, among the facts of some steps; not of smdebug."""

DEVICE: Final = "device"
DEVICE_BYTES: Final = "device_bytes"
STEP_ON_GPU: Final = "StepOnGPU-dev:"
"""Phase of the parts of steps on a GPU, before its number; not of smdebug."""

ENV_TIME_BUFFER: Final = "TIME_BUFFER_MICROSECONDS"
TIME_BUFFER_DEFAULT: Final = 3 * 60 * 1_000_000
"""Microseconds around a query in which the names of files are looked at."""

ENV_TRAIILING_DURATION: Final = "TRAILING_DURATION_MICROSECONDS"
TRAILING_DURATION_DEFAULT: Final = 5 * 60 * 1_000_000
"""Microseconds before the newest name at which an S3 listing restarts, because files arrive out of order."""

CONFIG_PATH_DEFAULT: Final = "/opt/ml/input/config/profilerconfig.json"
CONVERT_TO_MICROSECS: Final = 1_000_000
CONVERT_MICRO_TO_NS: Final = 1000
MAX_FILE_SIZE_DEFAULT: Final = 10_485_760
CLOSE_FILE_INTERVAL_DEFAULT: Final = 60
FILE_OPEN_FAIL_THRESHOLD_DEFAULT: Final = 50
BASE_FOLDER_DEFAULT: Final = "/opt/ml/output/profiler"
PYTHON_PROFILING_START_STEP_DEFAULT: Final = 9
PROFILING_NUM_STEPS_DEFAULT: Final = 1
PROFILER_DURATION_DEFAULT: Final = float("inf")

TF_METRICS_PREFIX: Final = "aws_marker-"
TF_DATALOADER_START_FLAG_FILENAME: Final = "tf_dataloader_start_flag.tmp"
TF_DATALOADER_END_FLAG_FILENAME: Final = "tf_dataloader_end_flag.tmp"

CPROFILE_STATS_FILENAME: Final = "python_stats"
PYINSTRUMENT_JSON_FILENAME: Final = "python_stats.json"
PYINSTRUMENT_HTML_FILENAME: Final = "python_stats.html"
CPROFILE_NAME: Final = "cprofile"
PYINSTRUMENT_NAME: Final = "pyinstrument"
