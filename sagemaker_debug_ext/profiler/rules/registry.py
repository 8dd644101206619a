"""All profiler rules by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sagemaker_debug_ext.profiler.rules.base import ProfilerRule
from sagemaker_debug_ext.profiler.rules.extra.cpu_throttled import CPUThrottled
from sagemaker_debug_ext.profiler.rules.extra.dataloader_stall import DataloaderStall
from sagemaker_debug_ext.profiler.rules.extra.gpu_memory_leak import GPUMemoryLeak
from sagemaker_debug_ext.profiler.rules.extra.gpu_throttled import GPUThrottled
from sagemaker_debug_ext.profiler.rules.extra.host_memory_pressure import HostMemoryPressure
from sagemaker_debug_ext.profiler.rules.extra.idle_gpu import IdleGPU
from sagemaker_debug_ext.profiler.rules.extra.small_kernels import SmallKernels
from sagemaker_debug_ext.profiler.rules.extra.straggler import Straggler
from sagemaker_debug_ext.profiler.rules.sagemaker.batch_size import BatchSize
from sagemaker_debug_ext.profiler.rules.sagemaker.bottlenecks import CPUBottleneck, IOBottleneck
from sagemaker_debug_ext.profiler.rules.sagemaker.dataloader import Dataloader
from sagemaker_debug_ext.profiler.rules.sagemaker.gpu_memory_increase import GPUMemoryIncrease
from sagemaker_debug_ext.profiler.rules.sagemaker.load_balancing import LoadBalancing
from sagemaker_debug_ext.profiler.rules.sagemaker.low_gpu_utilization import LowGPUUtilization
from sagemaker_debug_ext.profiler.rules.sagemaker.max_initialization_time import MaxInitializationTime
from sagemaker_debug_ext.profiler.rules.sagemaker.overall import OverallFrameworkMetrics, OverallSystemUsage
from sagemaker_debug_ext.profiler.rules.sagemaker.step_outlier import StepOutlier

SAGEMAKER_RULES: Final[Mapping[str, type[ProfilerRule]]] = {
    rule.name: rule
    for rule in (
        BatchSize,
        CPUBottleneck,
        Dataloader,
        GPUMemoryIncrease,
        IOBottleneck,
        LoadBalancing,
        LowGPUUtilization,
        MaxInitializationTime,
        OverallFrameworkMetrics,
        OverallSystemUsage,
        StepOutlier,
    )
}
"""The eleven rules that ProfilerReport runs."""

EXTRA_RULES: Final[Mapping[str, type[ProfilerRule]]] = {
    rule.name: rule
    for rule in (
        CPUThrottled,
        DataloaderStall,
        GPUMemoryLeak,
        GPUThrottled,
        HostMemoryPressure,
        IdleGPU,
        SmallKernels,
        Straggler,
    )
}
"""Rules that the service does not have; they run if they are asked for."""

RULES: Final[Mapping[str, type[ProfilerRule]]] = {**SAGEMAKER_RULES, **EXTRA_RULES}
