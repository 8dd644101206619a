"""Framework metrics of old containers, with every argument."""
# ruff: noqa: F821

from sagemaker.debugger import (
    DataloaderProfilingConfig,
    DetailedProfilingConfig,
    FrameworkProfile,
    HorovodProfilingConfig,
    ProfilerConfig,
    PythonProfiler,
    PythonProfilingConfig,
    SMDataParallelProfilingConfig,
    cProfileTimer,
)
from sagemaker.pytorch import PyTorch

estimator = PyTorch(
    entry_point="train.py",
    role=role,
    instance_type="ml.p3.2xlarge",
    instance_count=1,
    framework_version="1.13.1",
    py_version="py39",
    profiler_config=ProfilerConfig(
        system_monitor_interval_millis=500,
        framework_profile_params=FrameworkProfile(
            local_path="/opt/ml/output/profiler/",
            file_max_size=1000000,
            file_close_interval=30,
            file_open_fail_threshold=10,
            detailed_profiling_config=DetailedProfilingConfig(start_step=5, num_steps=2),
            dataloader_profiling_config=DataloaderProfilingConfig(start_step=3, num_steps=1, metrics_regex=".*"),
            python_profiling_config=PythonProfilingConfig(
                start_step=9,
                num_steps=1,
                python_profiler=PythonProfiler.CPROFILE,
                cprofile_timer=cProfileTimer.CPU_TIME,
            ),
            horovod_profiling_config=HorovodProfilingConfig(start_step=1, num_steps=2),
            smdataparallel_profiling_config=SMDataParallelProfilingConfig(start_unix_time=1600000000, duration=10),
        ),
    ),
    sagemaker_session=session,
)
estimator.fit(wait=False, job_name="framework-profile")
